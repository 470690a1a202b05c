"""``python -m forge.embedded``."""

import sys

if __name__ == "__main__":
    try:
        from forge.embedded.cli import main

        main()
    except KeyboardInterrupt:
        # While the imports are still going on.
        sys.exit(130)

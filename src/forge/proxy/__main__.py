"""``python -m forge.proxy``."""

import sys

if __name__ == "__main__":
    try:
        from forge.proxy.cli import main

        sys.exit(main())
    except KeyboardInterrupt:
        # Before the server's own signal handling is in place.
        sys.exit(130)

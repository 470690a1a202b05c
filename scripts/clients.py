"""Install the coding agents that `make test-clients` drives: `python scripts/clients.py FOLDER`.

About 2 GB, from npm and PyPI, in versions pinned in tests/clients/agents.py; nothing outside FOLDER is touched.
What cannot be installed here is named, and its tests skip with that reason.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import venv
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from clients.agents import NPM_PACKAGES, PIP_PACKAGES, SDK_PACKAGES, program


def main(folder: Path) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    packages = NPM_PACKAGES | SDK_PACKAGES
    missing = [name for name in packages if not program(folder, name).exists()]
    if missing and shutil.which("npm") is None:
        print(f"npm is not installed here: no {', '.join(missing)}")
    elif missing:
        print(f"Installing {', '.join(missing)} into {folder} (about 1.5 GB)")
        npm(folder, list(packages.values()))
    for name, package in PIP_PACKAGES.items():
        if not program(folder, name).exists():
            print(f"Installing {name} into {folder} (about 700 MB)")
            pip(folder / name, package)
    return 0


def npm(folder: Path, packages: list[str]) -> None:
    # A file of its own, or npm would look for one in the folders above.
    (folder / "package.json").write_text('{"private": true}\n', encoding="utf-8")
    command = ["npm", "install", "--no-audit", "--no-fund", "--loglevel", "error", *packages]
    if subprocess.run(command, cwd=folder, check=False).returncode:
        print("npm could not install them all: the tests of those that are missing are skipped")


def pip(folder: Path, package: str) -> None:
    venv.create(folder, with_pip=True)
    scripts = "Scripts" if sys.platform == "win32" else "bin"
    command = [
        str(folder / scripts / "python"),
        "-m",
        "pip",
        "install",
        "-q",
        "--disable-pip-version-check",
        package,
    ]
    if subprocess.run(command, check=False).returncode:
        shutil.rmtree(folder)
        print(f"pip could not install {package}: its test is skipped")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: clients.py FOLDER")
    sys.exit(main(Path(sys.argv[1])))

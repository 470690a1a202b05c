"""Makes a virtual environment with Forge in it. Run by the Makefile with whatever ``python3`` there is.

    python3 scripts/bootstrap.py .venv --extras dev,embedded [--python lowest|newest|any|PATH] [--unless-like OTHER]

Does nothing where the environment is up to date. Only the standard library, and only syntax that old interpreters
read too, so that one that is too old is told so.
"""

import argparse
import contextlib
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
STAMP = ".forge-installed"
LOWEST = (3, 11)
PROBED = "hatchling"  # small, and needed for the installation itself
PROBE = "import ensurepip, sys; print('%d.%d' % sys.version_info[:2])"


def main():
    options = arguments()
    venv = Path(options.venv)
    wanted = set(options.extras.split(","))
    stamp = read_stamp(venv)
    if options.python == "any" and up_to_date(stamp, wanted):
        return
    version, python = interpreter(options.python)
    if options.unless_like and version_of(venv_python(Path(options.unless_like))) == version:
        return  # there is no second version here
    if stamp is None or (options.python != "any" and stamp["python"] != list(version)):
        create(venv, version, python)
        stamp = None
    if not up_to_date(stamp, wanted):
        extras = wanted | set(stamp["extras"] if stamp else ())
        install(venv, extras)
        write_stamp(venv, extras)


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("venv")
    parser.add_argument("--extras", default="embedded")
    parser.add_argument("--python", default="any", help="lowest, newest, any, or the path of an interpreter")
    parser.add_argument("--unless-like", help="do nothing if this environment has the same Python version")
    return parser.parse_args()


def interpreter(choice):
    """(version, path) of the chosen interpreter; ends the program if there is none."""
    usable = []
    for path in [choice] if os.sep in choice else [sys.executable, *on_this_machine()]:
        version = version_of(path)
        if version is not None and version >= LOWEST:
            usable.append((version, str(path)))
            if choice == "any":
                break
    if not usable:
        raise SystemExit(nothing_usable(choice))
    # Of equal versions the one found first: min and max both keep it.
    pick = max if choice == "newest" else min
    return pick(usable, key=lambda entry: entry[0])


def on_this_machine():
    """Interpreters on PATH and in the usual places of version managers."""
    names = ["python3.%d" % minor for minor in range(11, 30)]
    paths = [path for path in (shutil.which(name) for name in names) if path]
    for pattern in (".pyenv/versions/3.*/bin/python", ".local/share/uv/python/cpython-3.*/bin/python"):
        # Sorted so that the same machine always gives the same answer.
        paths += sorted(str(path) for path in Path.home().glob(pattern))
    return paths


def version_of(python):
    """(major, minor) of an interpreter that runs and can make environments with pip; None for any other."""
    try:
        result = subprocess.run(
            [str(python), "-c", PROBE],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=30,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.match(rb"(\d+)\.(\d+)", result.stdout)
    return (int(match.group(1)), int(match.group(2))) if result.returncode == 0 and match else None


def nothing_usable(choice):
    if os.sep in choice:
        return "error: %s is no Python %d.%d or newer that can make virtual environments" % (choice, *LOWEST)
    own = "%d.%d" % sys.version_info[:2]
    if sys.version_info[:2] < LOWEST:
        return (
            "error: Forge needs Python %d.%d or newer, and python3 is %s; name another one: make PYTHON=/path/to/python3.12"
            % (*LOWEST, own)
        )
    return (
        "error: this Python (%s) cannot make virtual environments: its ensurepip is missing. "
        "On Debian and Ubuntu: apt install python3-venv; or name another one: make PYTHON=/path/to/python3.12"
        % own
    )


def project_digest():
    return hashlib.sha256((ROOT / "pyproject.toml").read_bytes()).hexdigest()


def read_stamp(venv):
    """What was installed there last; None if there is no working environment."""
    try:
        stamp = json.loads((venv / STAMP).read_text())
    except (OSError, ValueError):
        return None
    return stamp if version_of(venv_python(venv)) else None


def write_stamp(venv, extras):
    python = version_of(venv_python(venv))
    stamp = {"project": project_digest(), "extras": sorted(extras), "python": python}
    (venv / STAMP).write_text(json.dumps(stamp))


def up_to_date(stamp, wanted):
    return stamp is not None and stamp["project"] == project_digest() and wanted <= set(stamp["extras"])


def venv_python(venv):
    return venv / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def create(venv, version, python):
    say("Making %s with Python %d.%d" % (venv, *version))
    run([python, "-m", "venv", "--clear", str(venv)], "the virtual environment could not be made")


def install(venv, extras):
    extras = ",".join(sorted(extras))
    command = [
        str(venv_python(venv)),
        "-m",
        "pip",
        "install",
        "-qq",  # errors only
        "--disable-pip-version-check",
        "--no-input",
    ]
    require_index(command)
    say("Installing Forge (%s) into %s" % (extras, venv))
    run(
        [*command, "--editable", "%s[%s]" % (ROOT, extras)],
        "pip could not install Forge; its message is above",
    )


def require_index(command):
    """End at once where pip finds no package index: left alone it tries for minutes, once for each package."""
    probe = [
        *command,
        *("--dry-run", "--no-deps", "--ignore-installed"),
        *("--retries", "0", "--timeout", "10"),
        PROBED,
    ]
    process, (_, said) = attended(
        probe, subprocess.Popen.communicate, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    if process.returncode != 0:
        errors = [line for line in said.decode("utf-8", "replace").splitlines() if "ERROR: " in line]
        why = errors[0].partition("ERROR: ")[2] if errors else ""
        if not why or why.startswith("Could not find a version"):
            why = "it cannot get %s" % PROBED
        raise SystemExit(
            "error: pip reaches no package index (%s). Check the network, or pip's settings "
            "(pip config list, PIP_INDEX_URL, HTTPS_PROXY), and run it again." % why[:200]
        )


def run(command, failure):
    process, _ = attended(command, subprocess.Popen.wait)
    if process.returncode != 0:
        raise SystemExit("error: " + failure)


@contextlib.contextmanager
def own_temporary_folder():
    """Where venv and pip put what they need for a while: when they are ended, they leave it behind."""
    folder = tempfile.mkdtemp(prefix="forge-install-")
    os.environ["TMPDIR"] = os.environ["TEMP"] = os.environ["TMP"] = folder
    try:
        yield
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def attended(command, wait, **streams):
    """The process of ``command`` and what ``wait`` gave for it. Whatever ends the wait ends the process too."""
    signals.held = []
    try:
        # In a session of its own: a terminal's Ctrl-C reaches all of its processes, and venv and pip would each write
        # a traceback. So one process hears it, this one, and ends the others.
        process = subprocess.Popen(command, start_new_session=os.name == "posix", **streams)
    except BaseException:
        signals.let_go()
        raise
    try:
        signals.let_go()
        return process, wait(process)
    except BaseException:
        stop(process)
        raise


def stop(process):
    try:
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGTERM)
        else:
            process.terminate()
    except ProcessLookupError:
        pass  # it ended by itself meanwhile
    process.wait()


class Signals:
    """Signals end the program, but wait while a process is being started: it would run on, unknown to us."""

    held = None  # a list while they wait

    def stopped(self, number, _frame=None):
        """Take a signal: end the program, now or as soon as it may."""
        if self.held is not None:
            self.held.append(number)
        elif number == signal.SIGINT:
            raise KeyboardInterrupt
        else:
            raise SystemExit(128 + number)

    def let_go(self):
        """Hold none back any more."""
        held, self.held = self.held, None
        if held:
            self.stopped(held[0])


signals = Signals()


def stop_on_signals():
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        # Ignored it stays ignored: as Ctrl-C is in a script's background, and a hang-up under nohup.
        if number is not None and signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, signals.stopped)


def say(text):
    print(text, flush=True)


if __name__ == "__main__":
    stop_on_signals()
    try:
        with own_temporary_folder():
            main()
    except KeyboardInterrupt:
        sys.exit(130)

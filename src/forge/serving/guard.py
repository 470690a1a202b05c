"""Runs one model server and makes sure that it does not outlive Forge. Started as a script, never imported.

``python guard.py GRACE -- ARGV...``: starts ARGV and waits for it. Standard input is a lifeline: Forge holds the
other end of that pipe and never writes. When Forge closes it, or dies in whatever way (SIGKILL included, the
kernel closes it then), the server is asked to stop and, after GRACE seconds, killed with all of its own
children. SIGTERM does the same. The exit status is the server's (128 + N if signal N ended it).

Why a process between: a parent-death signal is bound to the *thread* that started the child, and Forge may run
its event loop on a thread that ends; this process has one main thread, which lives as long as it does. And a
foreign server cannot be taught to watch a pipe. Only the standard library is used, so that it starts in a blink.
"""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
import time

_CANNOT_RUN = 127
_PR_SET_PDEATHSIG = 1  # linux/prctl.h


def _die_with_parent(parent: int) -> None:
    """In the new child, before it becomes the server: be killed when the guard itself is (Linux only)."""
    import ctypes

    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # the guard died before the call above took effect
        os._exit(_CANNOT_RUN)


def _run(argv: list[str]) -> subprocess.Popen[bytes]:
    try:
        return _spawn(argv)
    except OSError as error:
        if error.errno != errno.ENOEXEC or os.name != "posix":
            raise
        # A llamafile is a program for several systems at once, which only a shell knows how to begin.
        return _spawn(["/bin/sh", *argv])


def _spawn(argv: list[str]) -> subprocess.Popen[bytes]:
    if os.name != "posix":
        return subprocess.Popen(argv, stdin=subprocess.DEVNULL)  # noqa: S603 - the caller's command line
    guard = os.getpid()
    return subprocess.Popen(  # noqa: S603 - the caller's command line
        argv,
        stdin=subprocess.DEVNULL,
        process_group=0,  # so that the server's own children can be ended with it
        preexec_fn=(lambda: _die_with_parent(guard)) if sys.platform == "linux" else None,  # noqa: PLW1509
    )


def _signal_group(child: subprocess.Popen[bytes], number: int) -> None:
    """Signal the server and its children; on Windows, end it."""
    if os.name != "posix":
        child.terminate()
        return
    try:
        os.killpg(child.pid, number)
    except ProcessLookupError:
        return  # already gone


def _stop(child: subprocess.Popen[bytes], grace: float) -> None:
    _signal_group(child, signal.SIGTERM)
    time.sleep(grace)  # the main thread ends this process as soon as the server is gone
    _signal_group(child, getattr(signal, "SIGKILL", signal.SIGTERM))


def _watch_lifeline(child: subprocess.Popen[bytes], grace: float) -> None:
    while os.read(0, 4096):
        pass
    _stop(child, grace)


def main(argv: list[str]) -> int:
    """Run the server to its end and give back its exit status."""
    grace = float(argv[0])
    # Ctrl-C in a terminal reaches every process of its group; ending the server is Forge's to decide.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        child = _run(argv[2:])
    except OSError as error:
        sys.stderr.write(f"error: cannot run {argv[2]}: {error.strerror or error}\n")
        return _CANNOT_RUN

    def stop_on_signal(_number: int, _frame: object) -> None:
        threading.Thread(target=_stop, args=(child, grace), daemon=True).start()

    signal.signal(signal.SIGTERM, stop_on_signal)
    threading.Thread(target=_watch_lifeline, args=(child, grace), daemon=True).start()
    status = child.wait()
    if os.name == "posix":
        _signal_group(child, signal.SIGKILL)  # whatever the server left behind in its group
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    # Not sys.exit: a thread may sit in a read of standard input, and there is nothing to clean up.
    code = main(sys.argv[1:])
    sys.stderr.flush()
    os._exit(code)

"""How the command's own process treats memory and files. Only for the command: a library leaves that to its program."""

from __future__ import annotations

import ctypes
import gc
import sys
from contextlib import suppress

_MOST_FILES = 65_536
_COLLECT_AFTER = 20_000
"""More new than freed objects before the collector looks again; a request leaves hardly any in cycles."""
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # malloc.h
_KEPT_BYTES = 32 * 1024 * 1024
_MAPPED_FROM = 16 * 1024 * 1024


def allow_many_sockets() -> None:
    """Raise the soft limit of open files as far as the system lets us: each client and each backend call holds one."""
    try:
        import resource
    except ImportError:  # Windows has none
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, _MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def settle() -> None:
    """Call once when everything is made that stays: it is looked at no more, and freed buffers are kept for the next.

    A body of a few hundred kB would otherwise be taken from the kernel and given back with every request, page by
    page, which costs as much as reading it.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_COLLECT_AFTER)
    if sys.platform == "linux":
        mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
        if mallopt is not None:  # glibc; musl has none
            mallopt(_M_MMAP_THRESHOLD, _MAPPED_FROM)
            mallopt(_M_TRIM_THRESHOLD, _KEPT_BYTES)

"""Where a model can go: every GPU of this machine, or its main memory; with what is free there now."""

from __future__ import annotations

import logging
import platform
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

import psutil
from msgspec import Struct

from forge.context.nvml import NvmlUnavailableError, nvidia_gpus

logger = logging.getLogger(__name__)

_MIB = 1024 * 1024
_DRM = Path("/sys/class/drm")
_AMD = "0x1002"
_QUERY = ("nvidia-smi", "--query-gpu=name,memory.total,memory.free", "--format=csv,noheader,nounits")


class Device(Struct, frozen=True, kw_only=True):
    """A place for a model; memory in bytes. ``vendor``: nvidia, amd, apple or cpu."""

    name: str
    vendor: str
    total: int
    free: int


def devices(drm: Path = _DRM) -> list[Device]:
    """All GPUs of the first maker found (llama.cpp spreads a model over them), else the main memory alone.

    ``drm`` is the kernel's folder of graphics cards.
    """
    return _nvidia() or _amd(drm) or [_main_memory()]


def room(places: Sequence[Device]) -> tuple[str, int]:
    """The devices in words, and the bytes that are free on all of them together."""
    names = [place.name for place in places]
    counted = [
        f"{names.count(name)} x {name}" if names.count(name) > 1 else name for name in dict.fromkeys(names)
    ]
    return " and ".join(counted), sum(place.free for place in places)


def _nvidia() -> list[Device]:
    try:
        return [
            Device(name=gpu.name, vendor="nvidia", total=gpu.total, free=gpu.free) for gpu in nvidia_gpus()
        ]
    except NvmlUnavailableError as error:
        logger.debug("NVIDIA's library: %s", error)
    try:
        answer = subprocess.run(_QUERY, capture_output=True, text=True, timeout=10, check=True)  # noqa: S603 - a constant
    except (OSError, subprocess.SubprocessError) as error:
        logger.debug("nvidia-smi: %s", error)
        return []
    return read_nvidia_smi(answer.stdout)


def read_nvidia_smi(answer: str) -> list[Device]:
    """The GPUs in an answer of ``nvidia-smi`` (CSV: name, total, free, in MiB); unreadable lines are left out."""
    found = []
    for line in answer.strip().splitlines():
        match = re.fullmatch(r"(.+?),\s*(\d+),\s*(\d+)", line.strip())
        if match is not None:
            total, free = int(match[2]) * _MIB, int(match[3]) * _MIB
            found.append(Device(name=match[1], vendor="nvidia", total=total, free=free))
    return found


def _amd(drm: Path) -> list[Device]:
    found = []
    for card in sorted(drm.glob("card*")):
        device = card / "device"
        total = _number(device / "mem_info_vram_total")
        if re.fullmatch(r"card\d+", card.name) and _text(device / "vendor") == _AMD and total is not None:
            used = _number(device / "mem_info_vram_used") or 0
            found.append(Device(name="AMD GPU", vendor="amd", total=total, free=max(0, total - used)))
    return found


def _main_memory() -> Device:
    memory = psutil.virtual_memory()
    if (platform.system(), platform.machine()) == ("Darwin", "arm64"):
        return Device(
            name="the Apple GPU's shared memory", vendor="apple", total=memory.total, free=memory.available
        )
    return Device(name="the CPU's memory", vendor="cpu", total=memory.total, free=memory.available)


def _number(path: Path) -> int | None:
    text = _text(path)
    return int(text) if text is not None and text.isdecimal() else None


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError:
        return None

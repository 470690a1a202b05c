"""Which GPU is in this machine, and how much memory it has."""

from __future__ import annotations

import logging
import platform
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from forge.context.nvml import NvmlUnavailableError, nvidia_gpus
from forge.errors import HardwareDetectionError

_log = logging.getLogger("forge.context.hardware")

_MIB = 1024 * 1024
_DRM = "/sys/class/drm"
_AMD = "0x1002"
_QUERY = ["nvidia-smi", "--query-gpu=name,memory.total", "--format=csv,noheader,nounits"]


@dataclass(frozen=True)
class HardwareProfile:
    """One GPU. ``vram_total_mb`` is in MiB; ``unified`` memory is shared with the CPU."""

    gpu_name: str
    vram_total_mb: int
    gpu_vendor: str = "nvidia"
    memory_kind: Literal["discrete", "unified"] = "discrete"

    @property
    def vram_total_gb(self) -> float:
        """Memory in GiB."""
        return self.vram_total_mb / 1024


def detect_hardware() -> HardwareProfile | None:
    """The first GPU found: NVIDIA, AMD, Apple; None, with one warning in the log, where there is none.

    NVIDIA's driver is asked through its library, and where that fails through ``nvidia-smi``. Of several GPUs the
    first counts; :func:`forge.serving.devices.devices` knows them all.

    Raises:
        HardwareDetectionError: a GPU answered, but not with something that can be read.
    """
    attempts: list[str] = []
    profile = (
        _ask_driver(attempts) or _detect_nvidia(attempts) or _detect_amd(attempts) or _detect_apple(attempts)
    )
    if profile is None:
        _log.warning("GPU detection failed (%s)", "; ".join(attempts))
    return profile


def _ask_driver(attempts: list[str]) -> HardwareProfile | None:
    try:
        gpus = nvidia_gpus()
    except NvmlUnavailableError as error:
        attempts.append(f"nvml: {error}")
        return None
    if not gpus:
        attempts.append("nvml: no GPU with memory of its own")
        return None
    return HardwareProfile(gpu_name=gpus[0].name, vram_total_mb=gpus[0].total // _MIB)


def _detect_nvidia(attempts: list[str]) -> HardwareProfile | None:
    try:
        result = subprocess.run(  # noqa: S603 - a constant
            _QUERY, capture_output=True, text=True, timeout=10, check=False
        )
    except FileNotFoundError:
        attempts.append("nvidia-smi: not installed")
        return None
    except subprocess.TimeoutExpired:
        attempts.append("nvidia-smi: timed out")
        return None
    except OSError as error:
        attempts.append(f"nvidia-smi: {error.strerror or error}")
        return None
    if result.returncode != 0:
        attempts.append(f"nvidia-smi: exit status {result.returncode}")
        return None
    line = next(iter(result.stdout.strip().splitlines()), "")
    # The memory is the last column; a name may hold commas of its own.
    name, comma, memory = line.rpartition(",")
    if not line or memory.strip().startswith("["):
        attempts.append("nvidia-smi: no GPU with memory of its own")
        return None
    try:
        if not comma:
            raise ValueError(f"no columns in {line!r}")  # noqa: TRY301 - joins the other failure to read it
        return HardwareProfile(gpu_name=name.strip(), vram_total_mb=int(memory))
    except ValueError as error:
        raise HardwareDetectionError(error) from error


def _detect_amd(attempts: list[str]) -> HardwareProfile | None:
    try:
        cards = sorted(path for path in Path(_DRM).iterdir() if re.fullmatch(r"card\d+", path.name))
    except OSError:
        cards = []
    for card in cards:
        device = card / "device"
        if _read(device / "vendor") != _AMD:
            continue
        memory = _read(device / "mem_info_vram_total")
        if memory is None:
            continue
        try:
            megabytes = int(memory) // _MIB
        except ValueError as error:
            raise HardwareDetectionError(error) from error
        return HardwareProfile(_amd_name(device, card.name), megabytes, "amd", "unified")
    attempts.append("amd-sysfs: no AMD card with memory information")
    return None


def _detect_apple(attempts: list[str]) -> HardwareProfile | None:
    """Apple's own chips, whose GPU uses the machine's memory."""
    if (platform.system(), platform.machine()) != ("Darwin", "arm64"):
        attempts.append("apple: not an Apple silicon Mac")
        return None
    import psutil

    return HardwareProfile("Apple GPU", psutil.virtual_memory().total // _MIB, "apple", "unified")


def _amd_name(device: Path, card: str) -> str:
    for line in (_read(device / "uevent") or "").splitlines():
        if line.startswith("PCI_ID="):
            return f"AMD GPU {line.removeprefix('PCI_ID=')}"
    return f"AMD GPU ({card})"


def _read(path: Path) -> str | None:
    try:
        return path.read_text().strip()
    except OSError:
        return None

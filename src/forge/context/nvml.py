"""NVIDIA's GPUs, asked through the driver's own library: no program to start, and free memory beside the total."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class NvidiaGpu:
    """One GPU; memory in bytes."""

    name: str
    total: int
    free: int


class NvmlUnavailableError(Exception):
    """There is no NVIDIA driver, or it does not tell."""


def nvidia_gpus() -> list[NvidiaGpu]:
    """All GPUs with memory of their own, in the driver's order.

    Raises:
        NvmlUnavailableError: why they cannot be asked.
    """
    try:
        import pynvml
    except ImportError as error:
        raise NvmlUnavailableError(str(error)) from error
    try:
        pynvml.nvmlInit()
    except (pynvml.NVMLError, OSError) as error:
        raise NvmlUnavailableError(str(error)) from error
    try:
        found = [_gpu(pynvml, number) for number in range(pynvml.nvmlDeviceGetCount())]
    except pynvml.NVMLError as error:
        raise NvmlUnavailableError(str(error)) from error
    finally:
        pynvml.nvmlShutdown()
    return [gpu for gpu in found if gpu is not None]


def _gpu(library: Any, number: int) -> NvidiaGpu | None:
    """None for a GPU that shares the machine's memory, and so has no number of its own."""
    handle = library.nvmlDeviceGetHandleByIndex(number)
    try:
        memory = library.nvmlDeviceGetMemoryInfo(handle)
    except library.NVMLError_NotSupported:
        return None
    name = library.nvmlDeviceGetName(handle)
    return NvidiaGpu(name.decode() if isinstance(name, bytes) else name, int(memory.total), int(memory.free))

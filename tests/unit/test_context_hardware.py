"""Finding a GPU, from the words of real tools."""

import subprocess
import sys
from pathlib import Path

import pytest

from forge.context import hardware
from forge.errors import HardwareDetectionError


@pytest.fixture
def machine(monkeypatch, tmp_path):
    """A machine with the given nvidia-smi (a shell script) and the given AMD card."""

    def make(smi=None, **card):
        bin_ = tmp_path / "bin"
        bin_.mkdir(exist_ok=True)
        if smi is not None:
            script = bin_ / "nvidia-smi"
            script.write_text(f"#!/bin/sh\n{smi}\n")
            script.chmod(0o755)
        monkeypatch.setenv("PATH", f"{bin_}:/bin:/usr/bin" if smi else str(bin_))
        drm = tmp_path / "drm"
        (drm / "card0-HDMI").mkdir(parents=True, exist_ok=True)
        device = drm / "card1" / "device"
        device.mkdir(parents=True, exist_ok=True)
        for name, text in card.items():
            (device / name).write_text(text)
        monkeypatch.setattr(hardware, "_DRM", str(drm))
        # The driver's library, where there is one, would be asked before the tool.
        monkeypatch.setitem(sys.modules, "pynvml", None)
        return hardware.detect_hardware()

    return make


@pytest.mark.parametrize(
    ("output", "name", "memory"),
    [
        pytest.param("NVIDIA H200, 143771", "NVIDIA H200", 143771, id="one"),
        pytest.param("A, 10\\nB, 20", "A", 10, id="first-of-two"),
        pytest.param("Quadro, special, 10", "Quadro, special", 10, id="comma-in-name"),
    ],
)
def test_nvidia(machine, output, name, memory):
    profile = machine(f"printf '{output}'")
    assert profile == hardware.HardwareProfile(name, memory)
    assert profile.vram_total_gb == memory / 1024


def test_a_tool_that_may_not_be_run_is_passed_over(machine, tmp_path):
    machine("true")
    (tmp_path / "bin" / "nvidia-smi").chmod(0o644)
    assert hardware.detect_hardware() is None


@pytest.mark.parametrize(
    "smi",
    [
        pytest.param("printf 'NVIDIA GB10, [N/A]'", id="unified-memory"),
        pytest.param("true", id="empty"),
        pytest.param("exit 9", id="fails"),
        pytest.param(None, id="missing"),
    ],
)
def test_without_a_readable_nvidia_card_the_search_goes_on(machine, smi):
    profile = machine(
        smi, vendor="0x1002\n", mem_info_vram_total=str(8 << 30), uevent="DRIVER=amdgpu\nPCI_ID=1002:15BF\n"
    )
    assert (profile.gpu_vendor, profile.memory_kind, profile.vram_total_mb) == ("amd", "unified", 8192)
    assert "1002:15BF" in profile.gpu_name


def test_nothing_found_is_one_warning(machine, caplog):
    assert machine() is None
    (record,) = caplog.records
    assert (record.levelname, record.name) == ("WARNING", "forge.context.hardware")
    for part in ("GPU detection failed", "nvml", "apple", "nvidia-smi: not installed", "amd-sysfs"):
        assert part in record.message


def test_answers_that_cannot_be_read(machine):
    with pytest.raises(HardwareDetectionError):
        machine("echo garbage")
    with pytest.raises(HardwareDetectionError):
        machine("exit 1", vendor="0x1002", mem_info_vram_total="much")


def test_a_card_without_identity_has_a_name(machine):
    assert "card1" in machine("exit 1", vendor="0x1002", mem_info_vram_total=str(1 << 30)).gpu_name


def test_module_globals_that_callers_replace():
    assert hardware.Path is Path
    assert hardware.subprocess.run is subprocess.run

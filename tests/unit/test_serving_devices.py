"""Devices for models, from the words of real tools."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from forge.serving.devices import Device, devices, read_nvidia_smi, room

MIB = 1024 * 1024


def test_all_gpus_of_nvidia_smi_are_read():
    found = read_nvidia_smi(
        "NVIDIA A100, 40960, 40000\nQuadro, special, 8192, 4096\nNVIDIA GB10, [N/A], [N/A]\n"
    )

    assert [(gpu.name, gpu.total // MIB, gpu.free // MIB) for gpu in found] == [
        ("NVIDIA A100", 40960, 40000),
        ("Quadro, special", 8192, 4096),
    ]


def test_room_adds_up_and_names_every_kind():
    places = read_nvidia_smi("A, 10, 5\nA, 10, 7\nB, 20, 1")

    assert room(places) == ("2 x A and B", 13 * MIB)


@pytest.fixture
def no_nvidia(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "pynvml", None)
    monkeypatch.setenv("PATH", str(tmp_path))


def test_amd_cards_by_the_kernels_files(no_nvidia, tmp_path):
    for name, total, used in (("card0", 16, 1), ("card1", 8, 0), ("card1-DP-1", 8, 0)):
        folder = tmp_path / "drm" / name / "device"
        folder.mkdir(parents=True)
        (folder / "vendor").write_text("0x1002\n")
        (folder / "mem_info_vram_total").write_text(f"{total << 30}\n")
        (folder / "mem_info_vram_used").write_text(f"{used << 30}\n")

    assert [(card.vendor, card.total >> 30, card.free >> 30) for card in devices(tmp_path / "drm")] == [
        ("amd", 16, 15),
        ("amd", 8, 8),
    ]


def test_without_a_gpu_there_is_main_memory(no_nvidia, tmp_path):
    (place,) = devices(tmp_path)

    assert place.vendor in {"cpu", "apple"}
    assert place.total == psutil.virtual_memory().total
    assert 0 < place.free <= place.total
    assert isinstance(place, Device)


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    """A folder with a driver library, which NVIDIA's own Python package loads; needs a C compiler."""
    compiler = shutil.which("cc")
    if compiler is None or sys.platform != "linux":
        pytest.skip("needs a C compiler, and Linux")
    folder = tmp_path_factory.mktemp("nvml")
    source = Path(__file__).parents[1] / "servers" / "nvml.c"
    library = folder / "libnvidia-ml.so.1"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", str(library), str(source)], check=True, timeout=60)
    return folder


def found_with(driver, **environment):
    """The devices that a process with this driver finds: (name, vendor, total and free GiB)."""
    program = (
        "from forge.serving.devices import devices\n"
        "print([(d.name, d.vendor, d.total >> 30, d.free >> 30) for d in devices()])"
    )
    paths = {"LD_LIBRARY_PATH": str(driver), "PYTHONPATH": os.pathsep.join(sys.path)}
    result = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **paths, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return ast.literal_eval(result.stdout)


def test_all_gpus_of_the_driver_are_found(driver):
    # The third has no memory of its own.
    assert found_with(driver) == [("GPU 0", "nvidia", 24, 20), ("GPU 1", "nvidia", 24, 21)]


def test_a_driver_that_does_not_answer_leaves_it_to_nvidia_smi(driver, tmp_path):
    smi = tmp_path / "nvidia-smi"
    smi.write_text("#!/bin/sh\necho 'NVIDIA A100, 40960, 38912'\n")
    smi.chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"

    assert found_with(driver, FORGE_TEST_NVML="broken", PATH=path) == [("NVIDIA A100", "nvidia", 40, 38)]

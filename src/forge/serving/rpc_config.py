"""llama.cpp over two machines: the worker that lends its devices, the coordinator that serves. Checked values."""

from __future__ import annotations

import ipaddress
import math
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, get_args

_ENVIRONMENT_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

SplitMode = Literal["none", "layer", "row", "tensor"]
Environment = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class LlamaCppRpcWorkerConfig:
    """The worker: llama.cpp's ``rpc-server`` on another machine, started over ssh.

    ``ssh_target`` is what ``ssh`` is given (``user@host`` or a name of its configuration). ``rpc_host`` is the
    address at which the worker listens and the coordinator reaches it: it must belong to a direct link between
    the two, since llama.cpp's protocol knows neither encryption nor authentication. ``device`` is llama.cpp's
    name (``CUDA0``). ``tensor_cache`` keeps the received tensors on the worker's disk.

    Raises:
        ValueError: a field that cannot work; the message names it.
    """

    ssh_target: str
    rpc_host: str
    executable: str
    device: str
    rpc_port: int = 50052
    tensor_cache: bool = True
    environment: Environment = ()
    ssh_options: tuple[str, ...] = ("-o", "BatchMode=yes", "-o", "ConnectTimeout=5")

    def __post_init__(self) -> None:
        for name in ("ssh_target", "rpc_host", "executable", "device"):
            _require_text(name, getattr(self, name))
        if self.ssh_target.startswith("-"):
            raise ValueError(f"ssh_target must not look like an option of ssh: {self.ssh_target!r}")
        if _is_wildcard(self.rpc_host):
            raise ValueError(f"rpc_host must be one direct-link address, not the wildcard {self.rpc_host!r}")
        if isinstance(self.rpc_port, bool) or not 1 <= self.rpc_port <= 65535:
            raise ValueError(f"rpc_port must be between 1 and 65535, not {self.rpc_port!r}")
        _require_environment("environment", self.environment)

    def command_line(self) -> tuple[str, ...]:
        """The words that start the worker: ``ssh -tt ...``, so that it ends with the connection."""
        words = [self.executable, "-H", self.rpc_host, "-p", str(self.rpc_port), "-d", self.device]
        if self.tensor_cache:
            words.append("-c")
        settings = [f"{name}={value}" for name, value in self.environment]
        remote = " ".join(["exec env", *map(shlex.quote, [*settings, *words])])
        return ("ssh", "-tt", *self.ssh_options, self.ssh_target, remote)


@dataclass(frozen=True)
class LlamaCppRpcConfig:
    """One worker and the coordinator, a ``llama-server`` on this machine that uses the worker's device too.

    ``devices`` in the order of ``tensor_split``, one share per device. ``startup_timeout`` in seconds, for worker
    and coordinator each. ``log_directory``: where ``rpc-worker.log`` and ``rpc-coordinator.log`` go; a
    temporary folder if None.

    Raises:
        ValueError: a field that cannot work; the message names it.
    """

    worker: LlamaCppRpcWorkerConfig
    coordinator_executable: str
    devices: tuple[str, ...]
    tensor_split: tuple[float, ...]
    split_mode: SplitMode = "layer"
    startup_timeout: float = 180.0
    coordinator_environment: Environment = ()
    log_directory: str | Path | None = None

    def __post_init__(self) -> None:
        _require_text("coordinator_executable", str(self.coordinator_executable))
        if not self.devices:
            raise ValueError("devices must name at least one device")
        for device in self.devices:
            _require_text("devices", device)
        if len(self.tensor_split) != len(self.devices):
            raise ValueError("tensor_split must have one value per device")
        if any(
            isinstance(share, bool) or not math.isfinite(share) or share < 0 for share in self.tensor_split
        ):
            raise ValueError("tensor_split must hold finite values that are not negative")
        if not any(self.tensor_split):
            raise ValueError("tensor_split must hold a value above zero")
        if self.split_mode not in get_args(SplitMode):
            raise ValueError(f"split_mode must be one of: {', '.join(get_args(SplitMode))}")
        if not math.isfinite(self.startup_timeout) or self.startup_timeout <= 0:
            raise ValueError("startup_timeout must be a finite number above zero")
        _require_environment("coordinator_environment", self.coordinator_environment)

    def coordinator_flags(self) -> tuple[str, ...]:
        """The words by which the coordinator knows the worker and its share."""
        host = f"[{self.worker.rpc_host}]" if ":" in self.worker.rpc_host else self.worker.rpc_host
        return (
            *("--rpc", f"{host}:{self.worker.rpc_port}"),
            *("--device", ",".join(self.devices)),
            *("--split-mode", self.split_mode),
            *("--tensor-split", ",".join(f"{share:.15g}" for share in self.tensor_split)),
        )


def _require_text(name: str, value: object) -> None:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{name} must be a non-empty text")
    if "\0" in value:
        raise ValueError(f"{name} must not hold a null character")


def _is_wildcard(host: str) -> bool:
    bare = host.strip().strip("[]")
    try:
        return ipaddress.ip_address(bare).is_unspecified
    except ValueError:
        return bare in ("*", "0")


def _require_environment(field: str, environment: Environment) -> None:
    names = [name for name, _ in environment]
    for name in names:
        if not _ENVIRONMENT_NAME.fullmatch(name):
            raise ValueError(f"{field}: {name!r} is no valid name of an environment variable")
    if len(set(names)) != len(names):
        raise ValueError(f"{field}: names must be unique")

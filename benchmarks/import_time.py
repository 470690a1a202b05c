"""How long ``import forge`` takes in a fresh interpreter, beside what else a program would import anyway.

Run: ``python benchmarks/import_time.py [--rounds N]``. The first row is the price of forge itself; the others show
what the first use of a name pulls in.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
from importlib.util import find_spec

PROGRAM = "import time; begin = time.perf_counter(); {code}; print(time.perf_counter() - begin)"
CASES = {
    "import forge": "import forge",
    "from forge import Guardrails": "from forge import Guardrails",
    "from forge import WorkflowRunner, LlamafileClient": "from forge import WorkflowRunner, LlamafileClient",
    "import pydantic (alone)": "import pydantic; pydantic.BaseModel",
    "import httpx (alone)": "import httpx",
    "import aiohttp (alone)": "import aiohttp",
}


def seconds(code: str) -> float:
    """Time of one import in an interpreter of its own."""
    command = [sys.executable, "-c", PROGRAM.format(code=code)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def main() -> None:
    """Print one row for each case: the first run (cold) and the median of the others."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    print(f"{'':52}{'first':>9}{'median':>9}")
    for name, code in CASES.items():
        module = code.split()[1].rstrip(";")
        if find_spec(module) is None:
            print(f"{name:52}{'not installed':>18}")
            continue
        times = [seconds(code) for _ in range(rounds + 1)]
        print(f"{name:52}{times[0]:8.3f}s{statistics.median(times[1:]):8.3f}s")


if __name__ == "__main__":
    main()

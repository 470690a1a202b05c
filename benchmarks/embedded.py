"""Forty tool-calling requests on an embedded model, straight to its server and through Forge.

    make bench-embedded
    .venv/bin/python benchmarks/embedded.py --model qwen2.5-coder-1.5b --first 10 --show-failures

Every request is sent once in each setting, at temperature 0, not streamed, one after the other. A request counts
as *valid* if there is a call and every call fits its tool's schema, as *right tool* if the first call is also of
the tool that the request is about. Seconds and tokens are sums; through Forge they include all attempts.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable

import aiohttp
import stack
from calling import Answer, ask
from cases import CASES, Case
from rich.console import Console
from rich.progress import track
from rich.table import Table

from forge import embedded
from forge.embedded.models import DEFAULT_MODEL, MODELS

# label, through Forge, tool_choice
SETTINGS = (
    ("straight, auto", False, "auto"),
    ("straight, required", False, "required"),
    ("through Forge, auto", True, "auto"),
    ("through Forge, required", True, "required"),
)


async def measure(options: argparse.Namespace, console: Console) -> None:
    cases = CASES[: options.first]
    table = Table(
        title=f"{len(cases)} tool-calling requests on {options.model}",
        title_justify="left",
        title_style="bold",
    )
    for column in ("", "valid calls", "right tool", "seconds", "prompt tokens", "tokens written"):
        table.add_column(column, justify="right" if column else "left", no_wrap=True)
    async with (
        await embedded.start(options.model, threads=options.threads) as server,
        stack.proxy("--backend-url", server.base_url, "--backend", "llamaserver") as forge_url,
    ):
        for label, through_forge, tool_choice in SETTINGS:
            if options.only and options.only not in label:
                continue
            url = forge_url if through_forge else server.base_url
            answers = await ask_all(url, cases, tool_choice, label, console)
            table.add_row(label, *figures(answers))
            if options.show_failures:
                show_failures(console, label, zip(cases, answers, strict=True))
    console.print(table)


async def ask_all(
    url: str, cases: tuple[Case, ...], tool_choice: str, label: str, console: Console
) -> list[Answer]:
    async with aiohttp.ClientSession() as session:
        shown = track(
            cases, description=label, console=console, disable=not console.is_terminal, transient=True
        )
        return [await ask(session, url, case, tool_choice) for case in shown]


def figures(answers: list[Answer]) -> tuple[str, ...]:
    return (
        f"{sum(answer.valid for answer in answers)} of {len(answers)}",
        f"{sum(answer.right for answer in answers)} of {len(answers)}",
        f"{sum(answer.seconds for answer in answers):.1f}",
        f"{sum(answer.prompt_tokens for answer in answers):,}",
        f"{sum(answer.tokens for answer in answers):,}",
    )


def show_failures(console: Console, label: str, pairs: Iterable[tuple[Case, Answer]]) -> None:
    for case, answer in pairs:
        if not answer.valid:
            console.print(f"{label}: {case.name}: {answer.wrote!r}", markup=False, highlight=False)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default=DEFAULT_MODEL, choices=list(MODELS))
    parser.add_argument("--first", type=int, default=len(CASES), help="only the first N requests")
    parser.add_argument("--only", help="only settings whose label contains this")
    parser.add_argument("--threads", type=int, default=0, help="CPU threads of the model server")
    parser.add_argument("--show-failures", action="store_true")
    # Without a terminal there is no width to ask for.
    console = Console(width=None if Console().is_terminal else 120)
    stack.run(measure(parser.parse_args(), console))


if __name__ == "__main__":
    main()

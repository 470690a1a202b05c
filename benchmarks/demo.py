"""What Forge does, on a small real model: ten tool-calling requests, straight to the model server and through Forge.

    make demo

Everything shown comes from this run. Nothing is left running, whatever ends it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

try:
    import aiohttp
    import stack
    from calling import Answer, ask
    from cases import DEMO_CASES, Case
    from rich.console import Console
    from rich.progress import track
    from rich.table import Table
    from rich.text import Text

    from forge import embedded
    from forge.embedded.models import DEFAULT_MODEL, MODELS
except KeyboardInterrupt:  # they take a moment, and this is the first thing that anyone runs
    sys.exit(130)

TOOL_CHOICE = "required"
# Enough for any of these calls. The bare server needs a limit: a small model that is told to call, and does not,
# goes on writing.
MAX_TOKENS = 160
_SHOWN = 110  # characters of an answer


async def show(options: argparse.Namespace, console: Console) -> None:
    model = MODELS[options.model]
    console.print(f"Starting {model.title.split(':')[0]} on llama.cpp, and a Forge proxy in front of it.")
    async with (
        await embedded.start(model.name) as server,
        stack.proxy("--backend-url", server.base_url, "--backend", "llamaserver") as forge_url,
    ):
        console.print(
            f"Ten requests with {len(DEMO_CASES[0].tools)} tools each and tool_choice={TOOL_CHOICE!r}, first straight to "
            "the model server, then through Forge.\n"
        )
        before = await ask_all(server.base_url, "straight", console)
        after = await ask_all(forge_url, "through Forge", console)
    console.print(answers_table(before, after))
    console.print(totals_table(before, after))
    how_to_go_on(console)


async def ask_all(url: str, label: str, console: Console) -> list[Answer]:
    answers: list[Answer] = []
    async with aiohttp.ClientSession() as session:
        for case in track(
            DEMO_CASES, description=label, console=console, disable=not console.is_terminal, transient=True
        ):
            answers.append(await ask(session, url, case, TOOL_CHOICE, MAX_TOKENS))
            if not console.is_terminal:  # where no bar can be drawn, a line an answer is the progress
                console.print(f"{label}: {len(answers)} of {len(DEMO_CASES)}", highlight=False)
    return answers


def answers_table(before: list[Answer], after: list[Answer]) -> Table:
    table = Table(show_lines=True)
    table.add_column("request", ratio=2)
    table.add_column("straight: what the model wrote", ratio=3)
    table.add_column("through Forge: what the client got", ratio=3)
    for case, straight, guarded in zip(DEMO_CASES, before, after, strict=True):
        table.add_row(Text(case.prompt), told(case, straight), told(case, guarded))
    return table


def told(case: Case, answer: Answer) -> Text:
    """An answer as one cell: the verdict, then its beginning on one line."""
    if answer.right:
        verdict, style = "valid call", "green"
    elif answer.valid:
        verdict, style = f"valid call (of another tool than {case.right})", "yellow"
    else:
        verdict, style = "no valid call", "red"
    if not answer.valid and answer.finish_reason == "length":
        verdict += f" (cut off at the limit of {MAX_TOKENS} tokens)"
    line = " ".join(answer.wrote.split())
    text = Text(verdict, style=style)
    return text.append("\n" + (line if len(line) <= _SHOWN else line[: _SHOWN - 3] + "..."), style="default")


def totals_table(before: list[Answer], after: list[Answer]) -> Table:
    """What was counted in rows: so the table fits a narrow terminal too."""
    table = Table(title="The same ten requests", title_justify="left")
    table.add_column()
    for heading in ("straight", "through Forge"):
        table.add_column(heading, justify="right")
    rows: dict[str, Callable[[list[Answer]], str]] = {
        "valid calls": lambda answers: f"{sum(answer.valid for answer in answers)} of {len(answers)}",
        "of the right tool": lambda answers: f"{sum(answer.right for answer in answers)} of {len(answers)}",
        "seconds": lambda answers: f"{sum(answer.seconds for answer in answers):.1f}",
        "tokens read": lambda answers: f"{sum(answer.prompt_tokens for answer in answers):,}",
        "tokens written": lambda answers: f"{sum(answer.tokens for answer in answers):,}",
    }
    for name, count in rows.items():
        table.add_row(name, count(before), count(after))
    return table


def how_to_go_on(console: Console) -> None:
    console.print(
        "\nA call being valid means that the client can run it; whether it is the right one is up to the model.\n"
        "\nRun the proxy yourself, on this tiny model, on a better one, or in front of your own server:\n"
        "  .venv/bin/python -m forge.proxy --backend embedded\n"
        "  .venv/bin/python -m forge.embedded install --model qwen2.5-coder-1.5b   # once, 1.1 GB; then\n"
        "  .venv/bin/python -m forge.proxy --backend embedded --model qwen2.5-coder-1.5b\n"
        "  .venv/bin/python -m forge.proxy --backend-url http://localhost:8080\n"
        "and point any OpenAI client at it: base_url http://localhost:8081/v1, any API key.\n"
        "Nothing of this demo is left running.",
        highlight=False,
        markup=False,
        soft_wrap=True,  # the terminal folds: then commands can be copied
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default=DEFAULT_MODEL, choices=list(MODELS))
    # Without a terminal there is no width to ask for, and 80 columns hold no three cells of text.
    console = Console(width=None if Console().is_terminal else 140)
    stack.run(show(parser.parse_args(), console))


if __name__ == "__main__":
    main()

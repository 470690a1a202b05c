"""Click options that know which heading of ``--help`` they belong under."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

REST = "--extra-flags"
"""The option that takes the rest of the command line, whatever that looks like."""

F = TypeVar("F", bound=Callable[..., Any])


class GroupedOption(click.Option):
    """An option with a heading."""

    def __init__(self, *args: Any, group: str = "Other", **kwargs: Any) -> None:
        self.group = group
        super().__init__(*args, **kwargs)


class GroupedCommand(click.Command):
    """A command whose help lists its options under their headings, and ends with examples as they are typed."""

    def __init__(self, *args: Any, examples: str = "", **kwargs: Any) -> None:
        self.examples = examples
        super().__init__(*args, **kwargs)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse, with everything after :data:`REST` set aside."""
        place = args.index(REST) if REST in args else len(args)
        left = super().parse_args(ctx, args[:place])
        name = REST.removeprefix("--").replace("-", "_")
        if ctx.params.get(name) is not None:
            raise click.UsageError(f"{REST} takes the words after it, not a value of its own", ctx)
        ctx.params[name] = tuple(args[place + 1 :])
        return left

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, one section per heading, in the order of their first appearance."""
        groups: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None:
                groups.setdefault(getattr(param, "group", "Other"), []).append(record)
        for name, records in groups.items():
            with formatter.section(name):
                formatter.write_dl(records)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
        """Write the examples unwrapped, so that they can be copied."""
        with formatter.section("Examples"):
            for line in self.examples.strip().splitlines():
                formatter.write(f"{'':>{formatter.current_indent}}{line}\n")


def option(group: str, *names: str, **attributes: Any) -> Callable[[F], F]:
    """``click.option`` under the heading ``group``."""
    return click.option(*names, cls=GroupedOption, group=group, **attributes)

"""Click options that know which heading of ``--help`` they belong under."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

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

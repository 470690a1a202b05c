"""Click options that know which heading of ``--help`` they belong under, and whether a profile may hold them."""

from __future__ import annotations

from typing import Any

import click

REST = "--extra-flags"
"""The option that takes the rest of the command line, whatever that looks like."""


class NonBlank(click.ParamType[str | None]):
    """A key or a name: blank means that it was not given."""

    name = "text"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str | None:  # noqa: ARG002 - click's signature
        """Strip; None for a blank."""
        return str(value).strip() or None


class GroupedOption(click.Option):
    """An option with a heading. ``in_profile`` says whether a profile may hold it, under its parameter's name.

    ``toml_types``: what it is there, in words and as Python types, where that does not follow from the option.
    """

    def __init__(
        self,
        *args: Any,
        group: str = "Other",
        in_profile: bool = True,
        toml_types: tuple[str, tuple[type, ...]] | None = None,
        **kwargs: Any,
    ) -> None:
        self.group = group
        self.in_profile = in_profile
        self.toml_types = toml_types
        super().__init__(*args, **kwargs)


class GroupedCommand(click.Command):
    """A command whose help lists its options under their headings, and ends with examples as they are typed."""

    def __init__(self, *args: Any, examples: str = "", commands: str = "", **kwargs: Any) -> None:
        self.examples = examples
        self.commands = commands
        super().__init__(*args, **kwargs)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse, with everything after :data:`REST` set aside."""
        if not any(REST in param.opts for param in self.params):
            return super().parse_args(ctx, args)
        place = args.index(REST) if REST in args else len(args)
        for param in self.params:
            both = (param.opts[0], *param.secondary_opts[:1])
            if len(both) == 2 and set(both) <= set(args[:place]):
                raise click.UsageError(f"{' and '.join(both)} cannot be combined", ctx)
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
        """Write the other commands and the examples unwrapped, so that they can be copied."""
        for heading, text in (("Other commands", self.commands), ("Examples", self.examples)):
            if text:
                with formatter.section(heading):
                    for line in text.strip().splitlines():
                        formatter.write(f"{'':>{formatter.current_indent}}{line}\n")


def option(group: str, *names: str, in_profile: bool = True, **attributes: Any) -> GroupedOption:
    """An option under the heading ``group``."""
    return GroupedOption(names, group=group, in_profile=in_profile, **attributes)


def given(ctx: click.Context) -> frozenset[str]:
    """The parameters that stand on the command line (those with a default or from the environment do not)."""
    here = click.core.ParameterSource.COMMANDLINE
    found = {name for name in ctx.params if ctx.get_parameter_source(name) == here}
    rest = REST.removeprefix("--").replace("-", "_")
    return frozenset(found | {rest} if ctx.params.get(rest) else found)

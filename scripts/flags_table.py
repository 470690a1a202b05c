"""Writes the tables of the proxy's flags into docs/proxy.md, from the options themselves: ``python scripts/flags_table.py``."""

import sys
from pathlib import Path

import click

from forge.proxy.launch import SOURCE_OPTIONS
from forge.proxy.options import OPTIONS
from forge.proxy.profile import FIELDS, profile_type

PAGE = Path(__file__).resolve().parents[1] / "docs" / "proxy.md"
BEGIN, END = "<!-- flags: written by scripts/flags_table.py -->", "<!-- end of flags -->"


def tables():
    groups = {}
    for option in (*OPTIONS, *SOURCE_OPTIONS):
        groups.setdefault(option.group, []).append(option)
    parts = []
    for name, options in groups.items():
        parts += [f"**{name}**", "", "| Flag | Key in a profile | What it does |", "|---|---|---|"]
        parts += [row(option) for option in options]
        parts.append("")
    return "\n".join(parts)


def row(option):
    flags = ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))
    about = option.help
    if isinstance(option.type, click.Choice):
        about = f"{', '.join(f'`{word}`' for word in option.type.choices)}. {about}"
    elif not option.is_flag:
        flags = flags[:-1] + f" {option.metavar or option.type.name.upper()}`"
    if option.show_default:
        about += f" Default: `{option.default}`."
    key = f"`{option.name}`: {profile_type(option)}" if option.name in FIELDS else ""
    if option.envvar:
        key = f"(`{option.envvar}` in the environment)"
    return f"| {flags} | {key} | {about} |"


def written(text):
    """``text`` with the tables as they should be."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{tables()}\n{END}{after}"


def main():
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(written(text), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

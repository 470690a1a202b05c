"""Tool names as models write them. A name is recognised by rules, never by similarity."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterator

_PREFIX = re.compile(r"^(?:functions?|tools?|default_api)[.:]", re.IGNORECASE)
_INDEX = re.compile(r":\d+$")
_TOKEN = re.compile(r"<[|｜].*$", re.DOTALL)
_LEADING_TOKEN = re.compile(r"^(?:<[|｜][^<>]*[|｜]>)+")
_TAG = re.compile(r"</?(?:tool_?calls?|tools|functions?|function_calls?|invoke|parameter)\b.*$", re.DOTALL)
_LEADING_TAG = re.compile(r"^\s*<(?:tool_?calls?|tools|functions?|function_calls?|invoke)\b[^<>]*>")
_SEPARATORS = str.maketrans("", "", "-_")


def resolve_name(written: str, names: Collection[str]) -> str | None:
    """The offered name that ``written`` means, or None.

    An exact match wins. Else known decoration is taken off (``functions.``, ``tools.``, ``default_api.`` or
    ``:``, a ``:3`` index, leaked special tokens, escaped underscores, call parentheses), and names are compared
    without case, hyphens, underscores and camel case. Two candidates mean none.
    """
    for form in _forms(written):
        if form in names:
            return form
        folded = _fold(form)
        if not folded:
            continue
        matches = [name for name in names if _fold(name) == folded]
        if matches:
            return matches[0] if len(set(matches)) == 1 else None
    return None


def without_tokens(written: str) -> str:
    """``written`` without control tokens and tags that leaked into it; as it is where nothing else is in it."""
    name = written
    for pattern in (_LEADING_TOKEN, _LEADING_TAG, _TOKEN, _TAG):
        name = pattern.sub("", name, count=1)
    return name.strip() or written


def closest_names(written: str, names: Collection[str]) -> list[str]:
    """Up to three offered names that look like ``written``, best first. Only for telling a model about them."""
    by_fold = {_fold(name): name for name in names}
    *_, bare = _forms(written[:200])
    return [by_fold[fold] for fold in difflib.get_close_matches(_fold(bare), list(by_fold), n=3, cutoff=0.5)]


def _forms(written: str) -> Iterator[str]:
    yield written
    form = written.replace("\\_", "_").strip().strip("`\"'").strip()
    if form != written:
        yield form
    for pattern in (_LEADING_TOKEN, _TOKEN, _INDEX):
        shorter = pattern.sub("", form, count=1).strip()
        if shorter != form:
            form = shorter
            yield form
    if form.endswith("()"):
        form = form[:-2]
        yield form
    while (shorter := _PREFIX.sub("", form, count=1)) != form:
        form = shorter
        yield form


def _fold(name: str) -> str:
    return name.translate(_SEPARATORS).casefold()

"""The documentation's table is written from the registry."""

from forge.dialects.catalogue import document
from forge.dialects.registry import NOTATIONS


def test_every_notation_has_its_place():
    page = document()
    for notation in NOTATIONS:
        if notation.example:
            assert f"\n### {notation.title}\n" in page
            assert notation.example in page
        else:
            assert f"| {notation.title} |" in page


def test_a_fence_in_an_example_does_not_end_its_block():
    page = document()
    (example,) = [n.example for n in NOTATIONS if n.name == "fence"]
    assert f"~~~text\n{example}\n~~~" in page

import pytest

from forge.wire.volatile_prefix import stable_system_prompt

HEADER = "x-anthropic-billing-header: cc_version=2.1.197.a05; cc_entrypoint=cli;"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (HEADER, ""),
        (f"{HEADER}\nYou are helpful.", "You are helpful."),
        (f"{HEADER}\n\n{HEADER}\nBe brief.", "Be brief."),
        ("You are helpful.", "You are helpful."),
        (f"Never write:\n{HEADER}", f"Never write:\n{HEADER}"),
        ("", ""),
    ],
)
def test_the_billing_line_goes_and_nothing_else(text, expected):
    assert stable_system_prompt(text) == expected

import json

from forge.clients.constrained import WHITE_SPACE_CANDIDATES, constraint_fields
from forge.core.request import Constraint, Tool

TOOL = Tool(name="f", parameters={"type": "object", "properties": {"a": {"type": "string"}}})


def test_the_schema_goes_out_as_a_response_format():
    fields, _ = constraint_fields(Constraint(tools=(TOOL,)), (), biased=False)

    assert list(fields) == ["response_format"]
    assert json.loads(fields["response_format"])["json_schema"]["schema"]["properties"]["name"] == {
        "const": "f"
    }


def test_white_space_is_banned_unless_the_caller_has_biases_of_its_own():
    fields, _ = constraint_fields(Constraint(tools=(TOOL,)), (1, 7), biased=False)
    biased, _ = constraint_fields(Constraint(tools=(TOOL,)), (1, 7), biased=True)

    assert json.loads(fields["logit_bias"]) == [[1, False], [7, False]]
    assert "logit_bias" not in biased


def test_what_the_schema_gives_up_is_told():
    tool = Tool(
        name="f", parameters={"type": "object", "properties": {"a": {"type": "string", "pattern": "^(?=x)"}}}
    )

    _, given_up = constraint_fields(Constraint(tools=(tool,)), (), biased=False)

    assert given_up


def test_no_candidate_is_needed_in_compact_json():
    # A single blank is, after colons and commas; everything else that is banned must be white space or end in a line
    # break, which JSON writes as an escape inside strings.
    assert " " not in WHITE_SPACE_CANDIDATES
    assert all(not text.strip() or text.endswith("\n") for text in WHITE_SPACE_CANDIDATES)

import json

import pytest

from forge.proxy.model_list import with_openai_fields

MODEL = {"type": "model", "id": "m", "created_at": "2025-02-19T00:00:00Z"}


def test_a_list_and_one_model_get_what_openais_clients_look_for():
    added = {"object": "model", "owned_by": "anthropic", "created": 1739923200}
    listed = json.loads(with_openai_fields(json.dumps({"data": [MODEL], "has_more": True}).encode()))
    assert listed == {"object": "list", "data": [{**added, **MODEL}], "has_more": True}
    assert json.loads(with_openai_fields(json.dumps(MODEL).encode())) == {**added, **MODEL}


@pytest.mark.parametrize("moment", [None, 5, "soon", "0001-01-01T00:00:00"])
def test_a_date_that_cannot_be_read_is_none(moment):
    answer = json.loads(with_openai_fields(json.dumps({**MODEL, "created_at": moment}).encode()))
    assert answer["created"] == 0


@pytest.mark.parametrize("body", [b"", b"<html>", b"[1]", b'{"type": "error"}', b"[" * 100_000, b"\xff"])
def test_anything_else_stays(body):
    assert with_openai_fields(body) == body


def test_entries_that_are_no_models_stay():
    assert json.loads(with_openai_fields(b'{"data": [1, null]}'))["data"] == [1, None]

import json

import pytest
from servers import recordings

from forge.clients.model_catalog import ServedModel, read_catalog
from forge.errors import BackendError


@pytest.mark.parametrize("body", [b"[]", b"{}", b'{"data":{}}', b"<html>"])
def test_a_catalogue_that_is_none(body):
    with pytest.raises(BackendError, match="malformed data"):
        read_catalog(body)


def test_the_recorded_catalogue():
    body = (recordings.FIXTURES / "vllm/smollm2-135m-hermes/v1_models.json").read_bytes()

    assert read_catalog(body) == [ServedModel("smollm2-135m-instruct", 4096)]
    odd = {"data": [{"id": ""}, {"id": "a", "max_model_len": "4096"}, {"id": 5}, None]}
    assert read_catalog(json.dumps(odd).encode()) == [ServedModel("a", None)]

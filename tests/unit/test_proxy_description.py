import json
import re

import pytest
from starlette.routing import Route

from forge._version import __version__
from forge.proxy.app import create_app
from forge.proxy.backends import make_backend
from forge.proxy.courier import Courier
from forge.proxy.description import description
from forge.proxy.gate import OPEN_PATHS
from forge.proxy.service import Service
from forge.proxy.settings import Settings

pytestmark = pytest.mark.anyio
DOCUMENT = json.loads(description())
VERBS = {"get", "head", "post", "delete", "put", "patch"}


@pytest.fixture
async def routes():
    url = "http://127.0.0.1:9"
    settings = Settings(backend_url=url)
    service = Service(settings, make_backend(settings, url), Courier(url, settings))
    yield [route for route in create_app(service).routes if isinstance(route, Route)]
    await service.aclose()


async def test_every_route_is_described_and_nothing_else(routes):
    served = {}
    for route in routes:
        path = re.sub(r":\w+}", "}", route.path)
        served.setdefault(path, set()).update(method.lower() for method in route.methods)
    described = {path: VERBS & item.keys() for path, item in DOCUMENT["paths"].items()}
    assert described == served


def test_what_needs_no_key_says_so():
    without = {
        path
        for path, item in DOCUMENT["paths"].items()
        for verb in VERBS & item.keys()
        if item[verb].get("security") == []
    }
    assert without == OPEN_PATHS


def test_every_reference_leads_somewhere():
    for reference in re.findall(r'"\$ref":\s*"#/([^"]+)"', description().decode()):
        place = DOCUMENT
        for step in reference.split("/"):
            place = place[step]


def test_operations_have_names_of_their_own():
    names = [item[verb]["operationId"] for item in DOCUMENT["paths"].values() for verb in VERBS & item.keys()]
    assert len(names) == len(set(names))


def test_it_is_of_this_version():
    assert DOCUMENT["info"]["version"] == __version__

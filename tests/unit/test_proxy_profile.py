import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forge.proxy.options import OPTIONS, settings_of
from forge.proxy.profile import FIELDS, ProfileError, completed, parse_profile, render_profile
from forge.proxy.settings import SettingsError

V = "schema_version = 1\n"


@pytest.mark.parametrize(
    ("text", "values"),
    [
        pytest.param(V, {}, id="sparse"),
        pytest.param(
            V + 'backend_url = "http://h"\nport = 0', {"backend_url": "http://h", "port": 0}, id="some"
        ),
        pytest.param(V + "backend_timeout = 5", {"backend_timeout": 5.0}, id="integer-for-a-number"),
        pytest.param(V + 'extra_flags = ["-t", "4"]', {"extra_flags": ("-t", "4")}, id="array"),
        pytest.param(V + 'allowed_hosts = ["a", "b"]', {"allowed_hosts": ("a", "b")}, id="repeatable"),
        pytest.param(V + 'model = "  "', {"model": None}, id="blank-is-absent"),
        pytest.param(V + "no_rescue = true", {"no_rescue": True}, id="boolean"),
    ],
)
def test_what_a_profile_says(text, values):
    assert parse_profile(text) == values


@pytest.mark.parametrize(
    ("text", "named"),
    [
        pytest.param("", "schema_version", id="no-version"),
        pytest.param("schema_version = 2", "schema_version", id="another-version"),
        pytest.param("schema_version = true", "schema_version", id="boolean-version"),
        pytest.param("schema_version = 1.0", "schema_version", id="float-version"),
        pytest.param(V + "b = 1\na = 2", "unknown profile fields: a, b", id="unknown-sorted"),
        pytest.param(V + 'backend_ulr = "http://h"', "backend_url", id="a-typo"),
        pytest.param(V + "port = true", "'port' has the wrong TOML type", id="boolean-for-integer"),
        pytest.param(V + "port = 1.0", "'port' has the wrong TOML type", id="float-for-integer"),
        pytest.param(V + 'port = "1"', "'port' has the wrong TOML type", id="string-for-integer"),
        pytest.param(V + "model = 1", "'model' has the wrong TOML type", id="integer-for-string"),
        pytest.param(V + "verbose = 1", "'verbose' has the wrong TOML type", id="integer-for-boolean"),
        pytest.param(V + "backend_timeout = true", "'backend_timeout' has", id="boolean-for-number"),
        pytest.param(V + 'extra_flags = "-t"', "'extra_flags' has", id="string-for-array"),
        pytest.param(V + 'extra_flags = ["-t", 4]', "'extra_flags' has", id="integer-in-array"),
        pytest.param(V + "[port]\na = 1", "'port' has", id="table"),
        pytest.param(V + 'backend_api_key = "s3cret"', "backend_api_key_file", id="a-key"),
        pytest.param("= 1", "TOML", id="no-toml"),
        pytest.param(V + "port = " + "[" * 5000, "TOML", id="too-deep"),
    ],
)
def test_what_no_profile_may_say(text, named):
    with pytest.raises(ProfileError) as caught:
        parse_profile(text)
    assert named in str(caught.value)
    assert "s3cret" not in str(caught.value)


def test_no_key_can_be_in_a_profile_and_every_other_setting_can():
    left_out = {option.name for option in OPTIONS} - FIELDS.keys()
    assert left_out == {"api_key", "backend_api_key"}


def test_a_profile_is_written_in_a_fixed_order_and_holds_what_was_said():
    text = render_profile({"port": 8081, "verbose": False, "extra_flags": ("-t",), "backend": "llamaserver"})
    assert list(tomllib.loads(text)) == ["schema_version", "backend", "extra_flags", "port", "verbose"]


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "backend_url": st.text(min_size=1).filter(lambda s: s.strip() == s),
            "extra_flags": st.lists(st.text()).map(tuple),
            "port": st.integers(-(2**63), 2**63 - 1),
            "backend_timeout": st.floats(allow_nan=False),
            "no_rescue": st.booleans(),
        },
    )
)
def test_what_was_written_is_read_back(values):
    assert parse_profile(render_profile(values)) == values


def test_what_a_profile_leaves_open_has_its_default_and_keys_come_from_the_environment(monkeypatch):
    monkeypatch.setenv("FORGE_BACKEND_API_KEY", "k")
    settings = settings_of(completed({"backend_url": "http://h", "allow_anonymous": True}))
    assert (settings.port, settings.max_retries, settings.backend_api_key) == (8081, 3, "k")


def test_a_models_file_may_be_named_from_the_home_folder():
    text = f'{V}backend = "llamaserver"\ngguf = "~/m.gguf"'

    assert settings_of(completed(parse_profile(text))).gguf == str(Path.home() / "m.gguf")


WORKFLOW = '[[workflows]]\nname = "{}"\nrequired_steps = ["look"]\n'


def test_rules_for_workflows_stand_in_a_profile_as_tables_and_in_a_file_that_it_names(tmp_path):
    file = tmp_path / "rules.toml"
    file.write_text(WORKFLOW.format("file"), encoding="utf-8")
    text = f'{V}backend_url = "http://h"\nworkflow = "{file.as_posix()}"\n{WORKFLOW.format("profile")}'
    settings = settings_of(completed(parse_profile(text)))

    assert [rules.name for rules in settings.workflows] == ["profile", "file"]


def test_rules_that_cannot_be_are_refused_with_their_key():
    with pytest.raises(SettingsError, match=r"workflows\[0\]\.required_step"):
        parse_profile(V + '[[workflows]]\nrequired_step = ["look"]')

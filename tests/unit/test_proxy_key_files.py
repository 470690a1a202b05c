import pytest

from forge.proxy.key_files import read_key
from forge.proxy.settings import SettingsError


@pytest.mark.parametrize("written", [b"k-1", b"k-1\n", b"  k-1\r\n\n"])
def test_a_file_holds_one_key(tmp_path, written):
    path = tmp_path / "key"
    path.write_bytes(written)
    assert read_key(path) == "k-1"


@pytest.mark.parametrize(
    "written",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b" \n", id="blank"),
        pytest.param(b"secret one\n", id="two-words"),
        pytest.param(b"secret\nb\n", id="two-lines"),
        pytest.param(b"secret\xff", id="not-text"),
        pytest.param(b"secret" * 20_000, id="too-long"),
    ],
)
def test_what_is_no_key_is_refused_and_never_quoted(tmp_path, written):
    path = tmp_path / "key"
    path.write_bytes(written)
    with pytest.raises(SettingsError) as caught:
        read_key(path)
    assert str(path) in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_missing_file_and_a_folder(tmp_path):
    for path in (tmp_path / "none", tmp_path):
        with pytest.raises(SettingsError, match="cannot read"):
            read_key(path)

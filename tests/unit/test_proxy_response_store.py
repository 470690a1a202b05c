import gc

import pytest
from msgspec import Raw

from forge.proxy.error_response import HttpError
from forge.proxy.response_store import ResponseStore


def raw(text):
    return Raw(f'"{text}"'.encode())


def keep(store, name, previous=None, filling=""):
    store.add(
        name,
        f"body of {name}".encode(),
        given=[raw(f"{name} asks{filling}")],
        output=[(f"item {name}", raw(f"{name} says"))],
        previous=previous,
    )


def words(store, name):
    return [bytes(item).decode().strip('"') for item in store.conversation(name)]


def test_a_response_and_its_conversation():
    store = ResponseStore()
    keep(store, "a")
    keep(store, "b", previous="a")
    assert words(store, "b") == ["a asks", "a says", "b asks", "b says"]
    assert words(store, "a") == ["a asks", "a says"]
    assert store.get("b").body == b"body of b"
    assert list(map(bytes, store.get("b").input)) == [b'"b asks"']
    assert bytes(store.item("item a")) == b'"a says"'


def test_a_conversation_may_branch():
    store = ResponseStore()
    keep(store, "a")
    keep(store, "b", previous="a")
    keep(store, "c", previous="a")
    assert words(store, "c") == ["a asks", "a says", "c asks", "c says"]


def test_an_unknown_response():
    with pytest.raises(HttpError) as caught:
        ResponseStore().conversation("resp_x")
    assert (caught.value.status, caught.value.error_code) == (400, "previous_response_not_found")
    assert caught.value.param == "previous_response_id"
    assert "resp_x" in str(caught.value)


def test_the_least_recently_used_is_forgotten_first():
    store = ResponseStore(count=2)
    keep(store, "a")
    keep(store, "b")
    store.get("a")
    keep(store, "c")
    assert [name for name in "abc" if store.get(name)] == ["a", "c"]
    assert store.item("item b") is None


def test_what_was_forgotten_stays_in_the_conversations_that_go_on_from_it():
    store = ResponseStore(count=1)
    keep(store, "a")
    keep(store, "b", previous="a")
    assert store.get("a") is None
    assert words(store, "b") == ["a asks", "a says", "b asks", "b says"]


def test_the_bytes_are_bounded():
    store = ResponseStore(size=20_000)
    for number in range(100):
        keep(store, f"r{number}", filling="x" * 1000)
        assert store.held <= 20_000
    assert store.get("r99")
    assert 5 < len(store) < 20


def test_a_response_that_is_too_large_is_not_kept():
    store = ResponseStore(size=1000)
    keep(store, "a", filling="x" * 2000)
    assert (len(store), store.held) == (0, 0)


def test_a_conversation_is_held_once():
    store = ResponseStore()
    keep(store, "r0", filling="x" * 10_000)
    first = store.held
    for number in range(1, 50):
        keep(store, f"r{number}", previous=f"r{number - 1}")
    assert store.held < first + 50 * 1000


def test_everything_deleted_is_let_go():
    store = ResponseStore()
    keep(store, "a")
    keep(store, "b", previous="a")
    assert store.delete("a")
    assert store.held > 0
    assert store.delete("b")
    assert not store.delete("b")
    assert (len(store), store.held) == (0, 0)
    assert store.item("item a") is None


def test_a_very_long_conversation_is_let_go_without_recursion():
    store = ResponseStore(count=1)
    keep(store, "r0")
    for number in range(1, 20_000):
        keep(store, f"r{number}", previous=f"r{number - 1}")
    assert len(store.conversation("r19999")) == 40_000
    store.delete("r19999")
    gc.collect()
    assert store.held == 0


def test_what_goes_on_from_a_forgotten_response_is_not_kept():
    store = ResponseStore()
    keep(store, "b", previous="a")
    assert store.get("b") is None
    assert store.held == 0

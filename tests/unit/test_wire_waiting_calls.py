"""The calls that wait for results, against a plain list of them."""

from hypothesis import given
from hypothesis import strategies as st

from forge.core.request import Call
from forge.wire.waiting_calls import WaitingCalls

IDS, NAMES = st.sampled_from(["", "a", "b"]), st.sampled_from(["f", "g"])
STEPS = st.one_of(
    st.tuples(st.just("add"), IDS, NAMES),
    st.tuples(st.just("take"), IDS),
    st.tuples(st.just("take_of"), NAMES | st.just("")),
    st.tuples(st.just("take_all")),
)


@given(st.lists(STEPS, max_size=30))
def test_the_first_that_fits_is_found(steps):
    waiting, plain = WaitingCalls(), []
    for number, (step, *keys) in enumerate(steps):
        if step == "add":
            given_id, name = keys
            call = Call(str(number), name, "{}")
            waiting.add(given_id, call)
            plain.append((given_id, call))
        elif step == "take_all":
            assert waiting.take_all() == [call for _, call in plain]
            plain.clear()
        else:
            key = keys[0]
            fits = [
                (given_id, call)
                for given_id, call in plain
                if (given_id == key if step == "take" else not key or call.name == key)
            ]
            assert getattr(waiting, step)(key) == (fits[0][1] if fits else None)
            if fits:
                plain.remove(fits[0])
        assert len(waiting) == len(plain)
        assert all(
            (key in waiting) == any(key == given_id for given_id, _ in plain) for key in ("", "a", "b")
        )

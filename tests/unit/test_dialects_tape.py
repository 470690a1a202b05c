from hypothesis import given
from hypothesis import strategies as st

from forge.dialects.tape import Tape


def tape_of(*pieces):
    tape = Tape()
    for piece in pieces:
        tape.append(piece)
    return tape


def test_offsets_count_the_whole_reply():
    tape = tape_of("abc", "def")
    assert (tape.end, tape.slice(1, 5)) == (6, "bcde")


def test_a_window_reaches_to_the_end_across_chunks():
    tape = tape_of("x" * 5000, "y" * 5000, "z")
    text, base = tape.window(4990)
    assert text[4990 - base :] == "x" * 10 + "y" * 5000 + "z"


def test_what_lies_before_is_forgotten_and_the_rest_keeps_its_offsets():
    tape = tape_of("a" * 4000, "b" * 4000)
    tape.drop_before(4000)
    assert tape.slice(4000, 4003) == "bbb"
    tape.drop_before(8000)
    tape.append("c")
    assert tape.slice(8000, 8001) == "c"


@given(
    pieces=st.lists(st.text("ab\n", min_size=1, max_size=3000), min_size=1, max_size=8),
    picks=st.lists(st.floats(0, 1)),
)
def test_slices_and_windows_are_those_of_the_joined_text(pieces, picks):
    tape, whole = tape_of(*pieces), "".join(pieces)
    for pick in picks:
        at = int(pick * len(whole))
        text, base = tape.window(at)
        assert text[at - base :] == whole[at:]
        assert tape.slice(at // 2, at) == whole[at // 2 : at]

from __future__ import annotations

import pytest

from forge.engine.runaway import runs_in_circles


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("Meetings take place " + "in the company of the team " * 8, id="a phrase"),
        pytest.param(
            "Meetings take place " + "in the company of the team " * 8 + "in the comp", id="cut in the middle"
        ),
        pytest.param("x" * 60, id="one character"),
        pytest.param("\\t" * 100, id="an escape"),
        pytest.param(("A whole sentence that is said again. " * 4) * 3, id="sentences"),
    ],
)
def test_repetition_to_the_end(text: str) -> None:
    assert runs_in_circles(text)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing"),
        pytest.param("ha" * 20, id="short"),
        pytest.param(
            "the team " * 20 + "and then something else happened at the end of the day", id="it went on"
        ),
        pytest.param(
            "".join(f"<tr><td>row {n}</td><td>{n * 7}</td></tr>\n" for n in range(40)), id="a table"
        ),
        pytest.param("".join(f"from forge.core.x{n} import y{n}\n" for n in range(40)), id="imports"),
        pytest.param("a line that is said twice, and that is all there is\n" * 2, id="twice"),
    ],
)
def test_content(text: str) -> None:
    assert not runs_in_circles(text)

"""The error tree."""

import inspect
import pickle
import traceback

import pytest

from forge import errors

CASES = [
    errors.MissingModelError(),
    errors.UnsupportedModelError("m"),
    errors.MultipleCredentialsError(["a", "b"]),
    errors.MissingCredentialError(),
    errors.RequestError("bad", "tools"),
    errors.ToolCallError("text", raw_response="raw", cause=ValueError("x")),
    errors.ToolExecutionError("f", ValueError("x")),
    errors.StepEnforcementError("end", 4, ["a"]),
    errors.PrerequisiteError("f", 3, ["a"]),
    errors.MaxIterationsError(10, ["a"], ["b"], used=4),
    errors.WorkflowCancelledError([1], ["a"], 2),
    errors.ContextBudgetExceeded(10, 5),
    errors.ToolTimeoutError("f", 1.5),
    errors.WorkerStoppedError(),
    errors.BackendError(503, "busy", raw_body="private"),
    errors.ThinkingNotSupportedError("m", body="private"),
    errors.BackendUnreachableError("http://x", OSError("refused")),
    errors.BackendGivenUpError("http://x", errors.ServerStartError("no memory")),
    errors.StreamError(),
    errors.BackendDiscoveryError(404),
    errors.ContextDiscoveryError(ValueError("x")),
    errors.HardwareDetectionError(ValueError("x")),
    errors.BudgetResolutionError(),
    errors.ServerStartError("no", log="last line", hint="do"),
    errors.EmbeddedModelError("no", hint="do"),
    errors.MalformedOutputError(500, "x"),
    errors.ProtocolMisuseError("x"),
]


@pytest.mark.parametrize("error", [pytest.param(e, id=type(e).__name__) for e in CASES])
def test_every_error_survives_pickling_and_has_a_code(error):
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), str(copy), copy.code, copy.status) == (
        type(error),
        str(error),
        error.code,
        error.status,
    )
    assert str(copy.__dict__) == str(error.__dict__)
    assert "private" not in str(error)


def test_what_helps_is_part_of_a_traceback():
    error = errors.UnsupportedModelError("m")
    assert error.hint in "".join(traceback.format_exception(error))


def test_the_tree_in_the_docstring_is_the_tree():
    classes = {n: c for n, c in vars(errors).items() if inspect.isclass(c) and issubclass(c, Exception)}
    assert sorted(classes) == errors.__all__
    for name, cls in classes.items():
        line = next(line for line in errors.__doc__.splitlines() if f" {name} " in f"{line} ")
        parent = cls.__bases__[0].__name__
        depth = sum(issubclass(ancestor, errors.ForgeError) for ancestor in cls.__mro__) - 1
        if issubclass(cls, errors.ForgeError):
            assert line.index(name) == 4 + 4 * depth, (name, parent)
    assert {type(e).__name__ for e in CASES} >= set(classes) - {
        "ForgeError",
        "RunError",
        "ToolResolutionError",
    }


def test_a_tools_own_error_is_not_caught_with_forges():
    assert not issubclass(errors.ToolResolutionError, errors.ForgeError)
    assert errors.ToolResolutionError("gone", "f").tool_name == "f"


def test_fields_of_the_contract():
    cancelled_messages: list[object] = []
    assert errors.WorkflowCancelledError(cancelled_messages, [], 0).messages is cancelled_messages
    assert errors.MaxIterationsError(10, [], []).iterations == 10
    assert errors.BackendError(500, "d").body == "d"
    cause = ValueError("x")
    assert errors.BudgetResolutionError(cause).__cause__ is cause
    assert str(errors.ToolExecutionError("f", cause)) == "Tool 'f' raised: x"
    assert "FINAL chunk" in str(errors.StreamError())
    assert (errors.BackendError(429).status, errors.BackendError(200).status) == (429, 502)

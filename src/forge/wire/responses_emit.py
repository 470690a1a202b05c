"""What the Responses door writes: the events of an answer and, built by the same steps, its whole object.

A streamed token costs one JSON string: everything around it is rendered once per part.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Raw, Struct

from forge.core.events import BlockDelta, CallReady, Finished, ReasoningDelta, TextDelta
from forge.core.request import Reasoning
from forge.wire.json_text import dumps
from forge.wire.openai_emit import Identity
from forge.wire.responses_object import final_state, output_annotations, output_logprobs, response_object
from forge.wire.responses_reasoning import sealed
from forge.wire.responses_request import ResponsesRequest
from forge.wire.responses_tools import Label, custom_input


class _Form(Struct, frozen=True):
    """How a kind of part is written: its type, the field with its text, its index and its events."""

    type: str
    delta: str
    done: str
    field: str = "text"
    index: str = "content_index"
    part: str = "response.content_part"


_TEXT = _Form("output_text", "response.output_text.delta", "response.output_text.done")
_REFUSAL = _Form("refusal", "response.refusal.delta", "response.refusal.done", field="refusal")
_THOUGHT = _Form("reasoning_text", "response.reasoning_text.delta", "response.reasoning_text.done")
_SUMMARY = _Form(
    "summary_text",
    "response.reasoning_summary_text.delta",
    "response.reasoning_summary_text.done",
    index="summary_index",
    part="response.reasoning_summary_part",
)


class _Part:
    """A part under construction. ``head`` and ``tail`` stand around the text in the event of a piece of it."""

    __slots__ = ("annotations", "form", "head", "logprobs", "pieces", "place", "tail")

    def __init__(self, form: _Form, place: dict[str, Any]) -> None:
        self.form = form
        self.place = place
        self.pieces: list[str] = []
        self.logprobs: list[Any] = []
        self.annotations: list[Any] = []
        self.head = b"event: %b\ndata: %b," % (form.delta.encode(), dumps({"type": form.delta, **place})[:-1])
        self.tail = b',"logprobs":[]}\n\n' if form is _TEXT else b"}\n\n"

    def value(self) -> dict[str, Any]:
        """The part as it stands in its item."""
        value: dict[str, Any] = {"type": self.form.type, self.form.field: "".join(self.pieces)}
        if self.form is _TEXT:
            value |= {"annotations": self.annotations, "logprobs": self.logprobs}
        return value


class _Item:
    """A message or a thought under construction."""

    __slots__ = ("field", "id", "index", "kind", "part", "parts")

    def __init__(self, kind: str, item_id: str, index: int) -> None:
        self.kind = kind
        self.id = item_id
        self.index = index
        self.field = "reasoning_content"
        self.parts: list[dict[str, Any]] = []
        self.part: _Part | None = None


class ResponseEncoder:
    """Encodes one answer. Every method returns the bytes of whole events; the last sets ``whole``, the final object.

    ``token`` makes ids unique: ``resp_<token>`` and, for items, the same with a number.
    """

    def __init__(self, request: ResponsesRequest, identity: Identity, token: str) -> None:
        self._request = request
        self._identity = identity
        self._token = token
        self._sequence = 0
        self._open: _Item | None = None
        self.id = f"resp_{token}"
        self.output: list[dict[str, Any]] = []
        self.whole = b""

    def begin(self) -> bytes:
        """The first events."""
        return self._event("response.created", {"response": self._object("in_progress")}) + self.beat()

    def beat(self) -> bytes:
        """An event that says no more than that the answer is still being made."""
        return self._event("response.in_progress", {"response": self._object("in_progress")})

    def serve(self, identity: Identity) -> None:
        """Take over the backend's envelope, where the first events went out before it was known."""
        self._identity = msgspec.structs.replace(identity, created=self._identity.created)

    def push(self, output: TextDelta | ReasoningDelta | BlockDelta | CallReady) -> bytes:
        """The events of one output."""
        if isinstance(output, CallReady):
            return self._close() + self._call(output)
        if isinstance(output, ReasoningDelta):
            return self._reasoning(output)
        return self._text(output) if isinstance(output, TextDelta) else b""

    def finish(self, finished: Finished, completed_at: int) -> bytes:
        """The last events."""
        state = final_state(finished)
        events = self._close("incomplete" if state["status"] == "incomplete" else "completed")
        if state["status"] == "completed":
            state["completed_at"] = completed_at
        self.whole = dumps(self._object(**state))
        return events + self._event(f"response.{state['status']}", {"response": Raw(self.whole)})

    def fail(self, error: dict[str, Any], *, code: str) -> bytes:
        """The last events of an answer that failed: for clients that read either of two.

        Args:
            error: OpenAI's error object, which SDKs raise.
            code: the code in the response's object, of those that the API has for that place.
        """
        failed = self._object("failed", error={"code": code, "message": error["message"]})
        event = {"code": error["code"], "message": error["message"], "param": error["param"], "error": error}
        return self._event("response.failed", {"response": failed}) + self._event("error", event)

    # -- text and thinking ------------------------------------------------------------------------------------

    def _text(self, delta: TextDelta) -> bytes:
        if delta.extra is None:
            return self._piece("message", _TEXT, delta.text)
        beside = delta.extra.get("delta") or {}
        events = b""
        refusal = beside.get("refusal")
        if isinstance(refusal, str) and refusal:
            events += self._piece("message", _REFUSAL, refusal)
        found = output_logprobs(delta.extra.get("logprobs"))
        annotations = output_annotations(beside.get("annotations"))
        # Tokens of what is no text (a call, say) open no message.
        speaks = self._open is not None and self._open.kind == "message"
        if delta.text or annotations or (found and speaks):
            events += self._piece("message", _TEXT, delta.text, found)
            events += self._annotate(annotations)
        return events

    def _annotate(self, annotations: list[Any]) -> bytes:
        part = self._open.part if self._open is not None else None
        events = b""
        for annotation in annotations if part is not None else ():
            assert part is not None
            about = {"annotation_index": len(part.annotations), "annotation": annotation}
            events += self._event("response.output_text.annotation.added", {**part.place, **about})
            part.annotations.append(annotation)
        return events

    def _reasoning(self, delta: ReasoningDelta) -> bytes:
        events = b""
        if delta.text:
            form = _SUMMARY if self._request.shows_summary else _THOUGHT
            events = self._piece("reasoning", form, delta.text)
            if self._open is not None:
                self._open.field = delta.field
        if delta.signature or delta.redacted:
            # A block that can only be given back as a whole is an item of its own.
            if delta.redacted or self._open is None or self._open.kind != "reasoning":
                events += self._open_item("reasoning", "rs")
            events += self._close(block=Reasoning("", delta.field, delta.signature, delta.redacted))
        return events

    def _piece(self, kind: str, form: _Form, text: str, logprobs: list[Any] | None = None) -> bytes:
        events = b""
        item = self._open
        if item is None or item.kind != kind:
            events = self._open_item(kind, "msg" if kind == "message" else "rs")
            item = self._open
        assert item is not None
        part = item.part
        if part is None or part.form is not form:
            events += self._close_part(item) + self._open_part(item, form)
            part = item.part
        assert part is not None
        part.pieces.append(text)
        tail = part.tail
        if logprobs:
            part.logprobs += logprobs
            tail = b',"logprobs":%b}\n\n' % dumps(logprobs)
        number, self._sequence = self._sequence, self._sequence + 1
        return b'%b%b"sequence_number":%d,"delta":%b%b' % (events, part.head, number, dumps(text), tail)

    def _open_item(self, kind: str, prefix: str) -> bytes:
        events = self._close()
        item = self._open = _Item(kind, self._item_id(prefix), len(self.output))
        return events + self._item_event("added", self._item(item, "in_progress"))

    def _open_part(self, item: _Item, form: _Form) -> bytes:
        place = {"item_id": item.id, "output_index": item.index, form.index: len(item.parts)}
        item.part = _Part(form, place)
        return self._event(f"{form.part}.added", {**place, "part": item.part.value()})

    def _close_part(self, item: _Item) -> bytes:
        part = item.part
        if part is None:
            return b""
        item.part = None
        form, value = part.form, part.value()
        item.parts.append(value)
        done: dict[str, Any] = {**part.place, form.field: value[form.field]}
        if form is _TEXT:
            done["logprobs"] = part.logprobs
        return self._event(form.done, done) + self._event(f"{form.part}.done", {**part.place, "part": value})

    def _close(self, status: str = "completed", *, block: Reasoning | None = None) -> bytes:
        """Finish the item under construction, a thought with the ``block`` that it is, where the backend told."""
        item = self._open
        if item is None:
            return b""
        events = self._close_part(item)
        value = self._item(item, status)
        if item.kind == "reasoning" and (block is not None or self._request.seals_reasoning):
            block = block or Reasoning("", item.field)
            text = "" if block.redacted else "".join(part["text"] for part in item.parts)
            value["encrypted_content"] = sealed([msgspec.structs.replace(block, text=text)])
        events += self._item_event("done", value)
        self._open = None
        self.output.append(value)
        return events

    def _item(self, item: _Item, status: str) -> dict[str, Any]:
        head = {"id": item.id, "type": item.kind, "status": status}
        if item.kind == "message":
            return {**head, "role": "assistant", "content": item.parts}
        summaries = self._request.shows_summary
        return {
            **head,
            "summary": item.parts if summaries else [],
            "content": [] if summaries else item.parts,
            "encrypted_content": None,
        }

    # -- calls ------------------------------------------------------------------------------------------------

    def _call(self, call: CallReady) -> bytes:
        label = self._request.labels.get(call.name) or Label(call.name)
        if label.custom:
            kind, field, prefix = "custom_tool_call", "input", "ctc"
            text, event = custom_input(call.arguments), "response.custom_tool_call_input"
        else:
            kind, field, prefix = "function_call", "arguments", "fc"
            text, event = call.arguments, "response.function_call_arguments"
        item = {"id": self._item_id(prefix), "type": kind, "status": "completed", "call_id": call.id}
        item["name"] = label.name
        if label.namespace is not None:
            item["namespace"] = label.namespace
        place = {"item_id": item["id"], "output_index": len(self.output)}
        events = self._item_event("added", {**item, "status": "in_progress", field: ""})
        if text:
            events += self._event(f"{event}.delta", {**place, "delta": text})
        done = {**place, field: text} if label.custom else {**place, "name": label.name, field: text}
        events += self._event(f"{event}.done", done)
        item[field] = text
        events += self._item_event("done", item)
        self.output.append(item)
        return events

    # -- small parts ------------------------------------------------------------------------------------------

    def _item_id(self, prefix: str) -> str:
        return f"{prefix}_{self._token}{len(self.output):03x}"

    def _item_event(self, what: str, item: dict[str, Any]) -> bytes:
        return self._event(f"response.output_item.{what}", {"output_index": len(self.output), "item": item})

    def _event(self, kind: str, fields: dict[str, Any]) -> bytes:
        number, self._sequence = self._sequence, self._sequence + 1
        return b"event: %b\ndata: %b\n\n" % (
            kind.encode(),
            dumps({"type": kind, "sequence_number": number, **fields}),
        )

    def _object(self, status: str, **state: Any) -> dict[str, Any]:
        return response_object(
            self._request,
            self._identity,
            {"id": self.id, "status": status, "output": self.output, **state},
        )

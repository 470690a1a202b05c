"""One inference request, from its body to the last byte of its answer.

The handler is a bare ASGI callable: a framework's request and response objects would cost more than the guarding.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, aclosing
from typing import TypeAlias, cast

from forge.clients.transport import Incoming
from forge.core.drive import drive, drive_whole
from forge.core.events import Finished, Retrying, Started
from forge.engine import Turn
from forge.errors import StreamError
from forge.proxy.body import ClientGoneError, Receive, Scope, Send, read_body
from forge.proxy.courier import returned_headers
from forge.proxy.door import Door, Reply, Visible
from forge.proxy.error_response import HttpError, describe
from forge.proxy.gate import Head
from forge.proxy.inbound import Inbound, inbound, is_guarded
from forge.proxy.report import Report
from forge.proxy.served import served
from forge.proxy.service import Service
from forge.proxy.stream import EventStream, cancelled_with_client, send_failure, send_json

Driven: TypeAlias = Visible | Retrying | Finished

_log = logging.getLogger("forge.proxy")


class InferenceEndpoint:
    """Serves one door of one service."""

    def __init__(self, door: Door, service: Service) -> None:
        self._door = door
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; the backend's work ends with the client's interest."""
        head: Head = scope["forge.head"]
        door, service = self._door, self._service
        report = Report(scope["path"], send, door.id_headers)
        body = b""
        try:
            body = await read_body(receive, service.bodies, head.content_length)
            asked = inbound(
                service.with_model(door.decode(body)),
                service.policy,
                service.suited,
                body=body,
                headers=scope["headers"],
                sent_headers=service.headers(head, door.key_slot),
            )
        except ClientGoneError:
            return
        except Exception as error:  # noqa: BLE001 - the edge: whatever it is, the caller gets an answer
            service.bodies.give_back(body)
            failure = describe(error)
            report.fail(error, failure)
            await send_failure(report.send, failure, door.error_body(failure))
            report.write()
            return
        request = asked.request
        service.note_mended(asked.mended)
        if _log.isEnabledFor(logging.DEBUG):
            _log.debug(
                "%s: model=%r stream=%s messages=%d tools=%d guarded=%s",
                door.path,
                request.model,
                request.stream,
                len(request.messages),
                len(request.tools),
                is_guarded(request),
            )
        exchange = _Exchange(door, service, asked, head.caller, report)
        try:
            if request.stream:
                await exchange.stream(receive, report.send)
            else:
                await exchange.whole(receive, report.send)
        finally:
            service.bodies.give_back(body)
            report.write()
        await service.usage.note(report, request, scope["headers"], service.backend)


class _Exchange:
    """One admitted request and the two ways to answer it."""

    def __init__(self, door: Door, service: Service, asked: Inbound, caller: str, report: Report) -> None:
        self._door = door
        self._service = service
        self._asked = asked
        self._request = asked.request
        self._caller = caller
        self._reply: Reply | None = None
        self._running: Turn | None = None
        same = door.forwards and door.protocol is service.kind.protocol
        self._forwards = same and asked.may_be_forwarded
        self._report = report
        report.tells = service.kind.limits_callers
        report.model, report.stream, report.forwarded = (
            asked.request.model,
            asked.request.stream,
            self._forwards,
        )

    async def whole(self, receive: Receive, send: Send) -> None:
        """Answer with one JSON document."""
        with cancelled_with_client(receive):
            try:
                answer = self._forward_whole if self._forwards else self._guarded_whole
                await served(self._service, self._caller, answer, send)
            except Exception as error:  # noqa: BLE001 - as above
                failure = describe(error)
                self._report.fail(error, failure)
                await send_failure(send, failure, self._door.error_body(failure))

    async def stream(self, receive: Receive, send: Send) -> None:
        """Answer with an event stream."""
        if not self._forwards:
            self._reply = self._door.reply(self._request, self)
        try:
            await self._streamed(receive, send)
        finally:
            # The two know one another, and all that a turn holds would wait for the garbage collector.
            self._reply = None

    async def _streamed(self, receive: Receive, send: Send) -> None:
        seconds = self._service.settings.limits.heartbeat_seconds
        async with EventStream(send, seconds, self._beat) as stream:
            with cancelled_with_client(receive, stream.nudge):
                try:
                    answer = self._forward_stream if self._forwards else self._guarded_stream
                    await served(self._service, self._caller, answer, stream)
                except Exception as error:  # noqa: BLE001 - as above
                    failure = describe(error)
                    self._report.fail(error, failure)
                    if stream.started:
                        event = self._reply.fail(failure) if self._reply is not None else None
                        await stream.fail(self._door.error_event(failure) if event is None else event)
                    else:
                        await stream.refuse(failure, self._door.error_body(failure))

    @property
    def started(self) -> Started | None:
        """The backend's envelope, once its turn has begun to answer."""
        return None if self._running is None else self._running.started

    def _beat(self) -> bytes:
        beat = self._reply.beat() if self._reply is not None else None
        return self._door.heartbeat if beat is None else beat

    # -- the guarded road -----------------------------------------------------------------------------------

    async def _guarded_whole(self, send: Send) -> None:
        turn = await self._turn()
        outputs: list[Visible] = []
        for output in await drive_whole(turn, self._service.backend, self._asked.sent_headers):
            if isinstance(output, Finished):
                self._report.finished = output
                await send_json(send, 200, self._door.reply(self._request, turn).whole(outputs, output))
                return
            if isinstance(output, Retrying):
                self._report.retrying(output)
            else:
                outputs.append(output)
        raise _unfinished()

    async def _guarded_stream(self, stream: EventStream) -> None:
        turn = self._running = await self._turn()
        reply = self._reply
        assert reply is not None
        driven = drive(turn, self._service.backend, self._asked.sent_headers)
        async with aclosing(cast("AsyncGenerator[list[Driven]]", driven)) as outputs:
            async for together in outputs:
                events: list[bytes] = []
                for output in together:
                    if isinstance(output, Finished):
                        self._report.finished = output
                        await stream.end(b"".join((*events, reply.finish(output))))
                        return
                    if isinstance(output, Retrying):
                        self._report.retrying(output)
                    else:
                        events.append(reply.push(output))
                await stream.write(b"".join(events))
        raise _unfinished()

    async def _turn(self) -> Turn:
        able = await self._service.backend.capabilities()
        return Turn(self._request, self._asked.policy, able, new_id=self._door.new_call_id)

    # -- the pass-through road ------------------------------------------------------------------------------

    async def _forwarded(self) -> AbstractAsyncContextManager[Incoming]:
        courier = self._service.courier
        asked = self._asked
        body = await self._service.forwarded_body(asked.request, asked.body, changed=asked.changed)
        return courier.send("POST", self._door.path, body=body, headers=asked.sent_headers)

    async def _forward_whole(self, send: Send) -> None:
        async with await self._forwarded() as answer:
            if answer.status >= 400:
                raise await answer.error()
            await send_json(send, answer.status, await answer.read(), returned_headers(answer))

    async def _forward_stream(self, stream: EventStream) -> None:
        async with await self._forwarded() as answer:
            if answer.status >= 400:
                raise await answer.error()
            if answer.content_type == "text/event-stream":
                while piece := await answer.next_piece():
                    await stream.write(piece)
                await stream.end()
            elif stream.started:
                raise HttpError(502, "the backend was asked for a stream and did not send one")
            else:
                await stream.replace(answer.status, await answer.read(), returned_headers(answer))


def _unfinished() -> StreamError:
    return StreamError("the turn ended without saying that it was finished")

"""``POST /v1/messages/count_tokens``: how many tokens a Messages request would take, without running it."""

from __future__ import annotations

import msgspec

from forge.clients.prompt_cut import estimate_prompt
from forge.core.request import Opaque, Protocol, Request
from forge.proxy.anthropic_door import AnthropicDoor
from forge.proxy.body import ClientGoneError, Receive, Scope, Send, read_body
from forge.proxy.error_response import describe
from forge.proxy.gate import Head
from forge.proxy.overrides import overridden
from forge.proxy.report import Report
from forge.proxy.service import Service
from forge.proxy.stream import JSON, cancelled_with_client, send_failure, send_json

PATH = "/v1/messages/count_tokens"
_NO_SUCH_PAGE = (404, 405, 501)
_REFUSED = (401, 403, 429)
_COUNTED = (b"x-forge-token-count", b"counted")
_ESTIMATED = (b"x-forge-token-count", b"estimated")
_IMAGE_TOKENS = 1600
"""What an image of ordinary size takes; servers differ by more than this is wrong."""


class _Count(msgspec.Struct):
    input_tokens: int


class CountTokensEndpoint:
    """Asks the backend, which llama-server, vLLM and Anthropic can be; else estimates, and says so in a header."""

    def __init__(self, door: AnthropicDoor, service: Service) -> None:
        self._door = door
        self._service = service
        self._has_no_counter = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        head: Head = scope["forge.head"]
        report = Report(scope["path"], send, self._door.id_headers)
        body = b""
        try:
            body = await read_body(receive, self._service.bodies, head.content_length)
            given = self._service.with_model(self._door.decode(body))
            _, request = overridden(self._service.policy, given, scope["headers"])
            report.model = request.model
            with cancelled_with_client(receive):
                await self._answer(request, body, head, report, changed=request is not given)
        except ClientGoneError:
            return
        except Exception as error:  # noqa: BLE001 - the edge: whatever it is, the caller gets an answer
            failure = describe(error)
            report.fail(error, failure)
            await send_failure(report.send, failure, self._door.error_body(failure))
        finally:
            self._service.bodies.give_back(body)
        report.write()

    async def _answer(
        self, request: Request, body: bytes, head: Head, report: Report, *, changed: bool
    ) -> None:
        counted = await self._counted(request, body, head, changed=changed)
        if counted is not None:
            report.tells = self._service.kind.limits_callers
            await send_json(report.send, 200, counted, (JSON, _COUNTED))
            return
        estimate = _estimate(self._service.suited(request))
        await send_json(report.send, 200, msgspec.json.encode(_Count(estimate)), (JSON, _ESTIMATED))

    async def _counted(self, request: Request, body: bytes, head: Head, *, changed: bool) -> bytes | None:
        """The backend's own answer; None where it has no counter, or would not count what is really sent.

        Raises:
            BackendError: it refuses the caller, or (Anthropic) the request.
        """
        service = self._service
        own = service.kind.protocol is Protocol.ANTHROPIC
        if self._has_no_counter or (request.tools and not own and not await self._has_native_tools()):
            return None
        sent = await service.forwarded_body(request, body, changed=changed)
        headers = service.headers(head, self._door.key_slot)
        async with service.courier.send("POST", PATH, body=sent, headers=headers) as answer:
            if answer.status in _NO_SUCH_PAGE:
                self._has_no_counter = not own
                return None
            if answer.status >= 400:
                if own or answer.status in _REFUSED:
                    raise await answer.error()
                return None
            counted = await answer.read()
        try:
            msgspec.json.decode(counted, type=_Count)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return None
        return counted

    async def _has_native_tools(self) -> bool:
        return (await self._service.backend.capabilities()).native_tools


def _estimate(request: Request) -> int:
    images = sum(isinstance(part, Opaque) for message in request.messages for part in message.parts)
    return max(estimate_prompt(request) + images * _IMAGE_TOKENS, 1)

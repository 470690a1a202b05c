"""Responses that may be gone on from: in memory, within bounds, the least recently used forgotten first.

A response keeps what its own request added and what was answered, and points to the response before it. So a long
conversation is held once, however many of its responses are kept.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from itertools import chain

from msgspec import Raw

from forge.proxy.error_response import HttpError

_OVERHEAD = 512
"""Bytes that a response costs beside its texts, about."""


class _Node:
    """One response's part of a conversation. ``users`` counts the index and the responses that go on from it."""

    __slots__ = ("after", "input", "output", "size", "users")

    def __init__(
        self, after: _Node | None, given: tuple[Raw, ...], output: tuple[Raw, ...], size: int
    ) -> None:
        self.after = after
        self.input = given
        self.output = output
        self.size = size
        self.users = 1


class StoredResponse:
    """A response as it was given: its whole object in ``body``, its request's ``input`` and its ``output`` as items."""

    __slots__ = ("body", "item_ids", "node")

    def __init__(self, body: bytes, node: _Node, item_ids: tuple[str, ...]) -> None:
        self.body = body
        self.node = node
        self.item_ids = item_ids

    @property
    def input(self) -> tuple[Raw, ...]:
        """The items of its own request."""
        return self.node.input


class ResponseStore:
    """Keeps up to ``count`` responses and about ``size`` bytes of what they hold."""

    def __init__(self, count: int = 1024, size: int = 64 * 1024 * 1024) -> None:
        self._count = count
        self._size = size
        self._held = 0
        self._responses: OrderedDict[str, StoredResponse] = OrderedDict()
        self._items: dict[str, Raw] = {}

    @property
    def held(self) -> int:
        """Bytes that are held now, about."""
        return self._held

    def __len__(self) -> int:
        return len(self._responses)

    def add(
        self,
        response_id: str,
        body: bytes,
        *,
        given: Sequence[Raw],
        output: Sequence[tuple[str, Raw]],
        previous: str | None = None,
    ) -> None:
        """Keep a response.

        Args:
            response_id: its id.
            body: its whole object.
            given: the items of its request.
            output: the items of its answer by their ids.
            previous: the response that it goes on from. If that was forgotten in the meantime, this one is not kept:
                its conversation would have a hole.
        """
        after = None
        if previous is not None:
            before = self._responses.get(previous)
            if before is None:
                return
            after = before.node
            after.users += 1
        items = tuple(item for _, item in output)
        size = _OVERHEAD + len(body) + sum(len(bytes(item)) for item in chain(given, items))
        node = _Node(after, tuple(given), items, size)
        self._responses[response_id] = StoredResponse(body, node, tuple(name for name, _ in output))
        self._items.update(output)
        self._held += size
        while self._responses and (self._held > self._size or len(self._responses) > self._count):
            self.delete(next(iter(self._responses)))

    def get(self, response_id: str) -> StoredResponse | None:
        """A stored response, which counts as a use of it."""
        found = self._responses.get(response_id)
        if found is not None:
            self._responses.move_to_end(response_id)
        return found

    def delete(self, response_id: str) -> bool:
        """Forget a response; those that go on from it stay whole. False where it was not stored."""
        found = self._responses.pop(response_id, None)
        if found is None:
            return False
        for name in found.item_ids:
            self._items.pop(name, None)
        node: _Node | None = found.node
        while node is not None:
            node.users -= 1
            if node.users:
                break
            self._held -= node.size
            # One after the other: a long conversation that is let go as a whole would end in deep recursion.
            node.after, node = None, node.after
        return True

    def conversation(self, response_id: str) -> Sequence[Raw]:
        """All items of the conversation up to and with that response.

        Raises:
            HttpError: it is not stored.
        """
        found = self.get(response_id)
        if found is None:
            raise HttpError(
                400,
                f"Previous response with id '{response_id}' not found. Forge keeps the latest responses in memory, "
                "where 'store' is not false: send the whole conversation in 'input' instead",
                param="previous_response_id",
                code="previous_response_not_found",
            )
        parts: list[tuple[Raw, ...]] = []
        node: _Node | None = found.node
        while node is not None:
            parts += (node.output, node.input)
            node = node.after
        return tuple(chain.from_iterable(reversed(parts)))

    def item(self, item_id: str) -> Raw | None:
        """An item of a stored response."""
        return self._items.get(item_id)

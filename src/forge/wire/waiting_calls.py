"""Calls of a conversation that wait for their results, each found at once however many there are."""

from __future__ import annotations

from collections import deque

from forge.core.request import Call


class WaitingCalls:
    """Calls in order, found by the id that their results will name or by the name of their tool.

    Every step costs the same whatever the number of calls: a history has as many as its sender likes.
    """

    def __init__(self) -> None:
        self._calls: dict[int, Call] = {}
        self._next = 0
        self._by_id: dict[str, deque[int]] = {}
        self._by_name: dict[str, deque[int]] = {}

    def copy(self) -> WaitingCalls:
        """One that goes on from here by itself."""
        other = WaitingCalls()
        other._calls = self._calls.copy()
        other._next = self._next
        other._by_id = {key: numbers.copy() for key, numbers in self._by_id.items()}
        other._by_name = {key: numbers.copy() for key, numbers in self._by_name.items()}
        return other

    def __len__(self) -> int:
        return len(self._calls)

    def __contains__(self, given_id: str) -> bool:
        return self._first(self._by_id, given_id) is not None

    def add(self, given_id: str, call: Call) -> None:
        """``call`` waits; its result will name ``given_id``, whatever the call is called by now."""
        number, self._next = self._next, self._next + 1
        self._calls[number] = call
        self._by_id.setdefault(given_id, deque()).append(number)
        self._by_name.setdefault(call.name, deque()).append(number)

    def take(self, given_id: str) -> Call | None:
        """The first call whose result names ``given_id``; it waits no longer."""
        return self._taken(self._first(self._by_id, given_id))

    def take_of(self, name: str) -> Call | None:
        """The first call of the tool ``name``, of any tool where it is empty; it waits no longer."""
        return self._taken(self._first(self._by_name, name) if name else next(iter(self._calls), None))

    def take_all(self) -> list[Call]:
        """All that wait, in order; then none does."""
        calls = list(self._calls.values())
        self._calls.clear()
        self._by_id.clear()
        self._by_name.clear()
        return calls

    def _taken(self, number: int | None) -> Call | None:
        return None if number is None else self._calls.pop(number)

    def _first(self, index: dict[str, deque[int]], key: str) -> int | None:
        numbers = index.get(key)
        # Numbers of calls that were found by the other key are still there.
        while numbers and numbers[0] not in self._calls:
            numbers.popleft()
        return numbers[0] if numbers else None

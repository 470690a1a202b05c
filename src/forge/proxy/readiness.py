"""Whether requests would be answered now: what load balancers and supervisors ask before they send some."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Final

from forge.errors import BackendGivenUpError, BackendUnreachableError, ForgeError
from forge.proxy.courier import Courier
from forge.proxy.error_response import describe

_SECONDS: Final = 5.0
_FRESH_SECONDS: Final = 1.0
_LOADING: Final = 503


class Readiness:
    """Asks the backend, at most once a second however often it is asked itself.

    ``child`` says whether the server that Forge started runs; None where Forge started none.
    """

    def __init__(self, courier: Courier) -> None:
        self._courier = courier
        self.child: Callable[[], bool] | None = None
        self._lock = asyncio.Lock()
        self._known: tuple[float, str | None] | None = None

    async def fault(self) -> str | None:
        """Why requests would fail now, in one sentence that names no address; None if they would not."""
        if self.child is not None and not self.child():
            return "the model server that Forge started does not run"
        async with self._lock:
            now = time.monotonic()
            if self._known is None or now - self._known[0] > _FRESH_SECONDS:
                self._known = (time.monotonic(), await self._ask())
            return self._known[1]

    async def _ask(self) -> str | None:
        try:
            async with (
                asyncio.timeout(_SECONDS),
                self._courier.send("GET", "/health", headers={}) as answer,
            ):
                await answer.read()
                loading = answer.status == _LOADING
        except TimeoutError:
            return "the backend does not answer in time"
        except BackendGivenUpError:
            return "the model server that Forge started was given up"
        except BackendUnreachableError as error:
            sentence = describe(error).message
            return f"the backend cannot be reached{sentence.partition('cannot be reached')[2]}"
        except ForgeError:
            return None  # it answered, if oddly
        return "the backend is there and not ready: its model is still loading" if loading else None

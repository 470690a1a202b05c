"""One model slot shared by many callers: work by priority, urgent work first, nobody waits for ever."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from forge.core.messages import Message
from forge.core.workflow import Workflow
from forge.errors import WorkerStoppedError, WorkflowCancelledError

_GRACE = 1.0
"""Seconds that a running workflow has to end when the worker is stopped."""


@dataclass(eq=False)
class _Job:
    """One submitted run. ``arguments`` are the keywords for ``runner.run``."""

    workflow: Workflow
    user_message: str
    priority: int
    sequence: int
    submitted: float
    arguments: dict[str, Any]
    requeue: bool
    future: asyncio.Future[Any]
    cancel: asyncio.Event = field(default_factory=asyncio.Event)
    preempted: bool = False
    urgency: int = 0
    """Its priority with its age taken into account, when it was taken out of the queue."""


class SlotWorker:
    """Runs submitted workflows one at a time on one runner, in the order of their priority.

    A lower number is more urgent; equal numbers go first come, first served. A submission that is more urgent than
    the running workflow cancels it at once. Use as an async context manager, or call :meth:`start` and :meth:`stop`.

    Args:
        runner: what runs the workflows; its ``run`` is called with ``cancel_event`` and what was submitted.
        ageing: seconds of waiting after which a submission counts as one step more urgent than it is, so that a
            stream of urgent work cannot keep it waiting, or displace it, for ever; None never ages.
    """

    def __init__(self, runner: Any, *, ageing: float | None = 60.0) -> None:
        if ageing is not None and not ageing > 0:
            raise ValueError("ageing must be a positive number of seconds, or None")
        self.runner = runner
        self.ageing = ageing
        self._queue: list[_Job] = []
        self._running: _Job | None = None
        self._sequence = 0
        self._stopped = False
        self._wake = asyncio.Event()
        self._worker_task: asyncio.Task[None] | None = None

    # -- life -------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Begin to work. Idempotent; also after :meth:`stop`, whose end it waits for."""
        if self._stopped and self._worker_task is not None:
            await asyncio.wait({self._worker_task})
        self._stopped = False
        if self._worker_task is None or self._worker_task.done():
            self._worker_task = asyncio.ensure_future(self._work())

    async def stop(self) -> None:
        """Cancel the running workflow and everything that waits, and end. Idempotent.

        All callers of :meth:`submit` get a ``WorkflowCancelledError``; when this returns nothing runs any more.
        """
        self._stopped = True
        for job in self._drain():
            _fail(job, WorkflowCancelledError([], [], 0))
        if self._running is not None:
            self._running.requeue = False
            self._running.cancel.set()
            # The runner ends by itself, with the conversation in its error; one that does not is cut off.
            await asyncio.wait({self._running.future}, timeout=_GRACE)
        task = self._worker_task
        if task is not None:
            task.cancel()
            await asyncio.wait({task})
            if self._worker_task is task:
                self._worker_task = None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    # -- work -------------------------------------------------------------------------------------------

    async def submit(  # noqa: PLR0913 - the contract's signature and its extensions
        self,
        workflow: Workflow,
        user_message: str,
        priority: int = 0,
        prompt_vars: dict[str, Any] | None = None,
        *,
        initial_messages: Sequence[Message] | None = None,
        requeue: bool = False,
        cancel_event: asyncio.Event | None = None,
    ) -> Any:
        """Run ``workflow`` when its turn comes and return its result. Before :meth:`start` it waits.

        Args:
            workflow: what to run.
            user_message: the task.
            priority: lower is more urgent.
            prompt_vars: values for the placeholders of the system prompt.
            initial_messages: a conversation to go on with.
            requeue: when more urgent work cancels this run, start it again later instead of failing.
            cancel_event: setting it cancels this submission, whether it waits or runs.

        Cancelling the caller cancels its run.

        Raises:
            WorkflowCancelledError: the run was cancelled: by more urgent work, :meth:`cancel_current` or :meth:`stop`.
            WorkerStoppedError: the worker is stopped.
            Exception: whatever the run raises.
        """
        if self._stopped:
            raise WorkerStoppedError
        arguments: dict[str, Any] = {"prompt_vars": prompt_vars}
        if initial_messages is not None:
            arguments["initial_messages"] = initial_messages
        loop = asyncio.get_running_loop()
        job = _Job(
            workflow,
            user_message,
            priority,
            self._sequence,
            time.monotonic(),
            arguments,
            requeue,
            loop.create_future(),
        )
        self._sequence += 1
        self._queue.append(job)
        self._wake.set()
        running = self._running
        if running is not None and priority < running.urgency:
            running.preempted = True
            running.cancel.set()
        watch = asyncio.ensure_future(self._watch(job, cancel_event)) if cancel_event is not None else None
        try:
            return await job.future
        except asyncio.CancelledError:
            self._abandon(job)
            raise
        finally:
            if watch is not None:
                watch.cancel()
                await asyncio.wait({watch})

    def cancel_current(self) -> None:
        """Cancel the running workflow, if there is one; what waits goes on."""
        if self._running is not None:
            self._running.preempted = False
            self._running.cancel.set()

    @property
    def running_priority(self) -> int | None:
        """The running workflow's priority; None when nothing runs."""
        return self._running.priority if self._running is not None else None

    @property
    def pending(self) -> int:
        """Submissions that wait."""
        return len(self._queue)

    # -- details ----------------------------------------------------------------------------------------

    async def _work(self) -> None:
        try:
            await self._work_on()
        except BaseException as error:
            # Stopped, or a run raised what ends programs: nobody must be left waiting for a worker that is gone.
            if not isinstance(error, asyncio.CancelledError) or not self._stopped:
                self._stopped = True
                for job in self._drain():
                    _fail(job, WorkerStoppedError())
            raise

    async def _work_on(self) -> None:
        # A stop() that the run itself called is cancelled with the run, before it could end this task.
        while not self._stopped:
            job = self._next()
            if job is None:
                self._wake.clear()
                await self._wake.wait()
                continue
            self._running = job
            try:
                await self._run(job)
            finally:
                self._running = None

    async def _run(self, job: _Job) -> None:
        try:
            result = await self.runner.run(
                job.workflow, job.user_message, cancel_event=job.cancel, **job.arguments
            )
        except WorkflowCancelledError as error:
            if job.preempted and job.requeue and not self._stopped:
                job.cancel, job.preempted = asyncio.Event(), False
                self._queue.append(job)
            else:
                _fail(job, error)
        except asyncio.CancelledError:
            # The caller must not be left waiting.
            _fail(job, WorkflowCancelledError([], [], 0))
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise  # the worker itself is being stopped; else the run was cancelled from within
        except Exception as error:  # noqa: BLE001 - carried to the caller; the worker goes on
            _fail(job, error)
        except BaseException:
            _fail(
                job, WorkerStoppedError()
            )  # it ends the program, not the caller; who waits learns that much
            raise
        else:
            if not job.future.done():
                job.future.set_result(result)

    def _next(self) -> _Job | None:
        """Take the most urgent submission out of the queue; ageing changes the order as time passes."""
        if not self._queue:
            return None
        now = time.monotonic()
        job = min(self._queue, key=lambda job: (self._urgency(job, now), job.sequence))
        self._queue.remove(job)
        job.urgency = self._urgency(job, now)
        return job

    def _urgency(self, job: _Job, now: float) -> int:
        steps = 0 if self.ageing is None else int((now - job.submitted) / self.ageing)
        return job.priority - steps

    def _abandon(self, job: _Job) -> None:
        """The caller is gone: its work must not go on."""
        if job in self._queue:
            self._queue.remove(job)
        elif job is self._running:
            job.requeue = False
            job.cancel.set()

    async def _watch(self, job: _Job, event: asyncio.Event) -> None:
        await event.wait()
        waiting = job in self._queue
        self._abandon(job)
        if waiting:
            _fail(job, WorkflowCancelledError([], [], 0))

    def _drain(self) -> list[_Job]:
        waiting, self._queue = self._queue, []
        return waiting


def _fail(job: _Job, error: BaseException) -> None:
    if not job.future.done():
        job.future.set_exception(error)

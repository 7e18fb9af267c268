"""Blocking work behind an asynchronous server: one daemon thread for each call, waited for only so long.

A call that never returns keeps its thread, but neither the client, other calls, nor the end of the process
wait for it; that is why no thread pool is used, whose threads the interpreter joins at exit.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


async def within(seconds: float, work: Callable[[], T], name: str) -> T:
    """Result of ``work``, which runs in a thread called ``name``.

    Args:
        seconds: how long to wait.
        work: what to do; may block.
        name: the thread's name.

    Raises:
        TimeoutError: it takes longer; the work goes on, its outcome is dropped.
    """
    outcome: Future[T] = Future()
    # From now on a cancelled wait leaves the future alone, so that the thread can still set it.
    outcome.set_running_or_notify_cancel()
    threading.Thread(target=_settle, args=(outcome, work), name=name, daemon=True).start()
    return await asyncio.wait_for(asyncio.wrap_future(outcome), seconds)


def _settle(outcome: Future[T], work: Callable[[], T]) -> None:
    try:
        outcome.set_result(work())
    except BaseException as error:
        outcome.set_exception(error)

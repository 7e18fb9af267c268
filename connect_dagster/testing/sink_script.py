"""The script of a recording sink task: one word with its argument for each action.

``ok; retry 500; request-commit, pause 1; fail no more *`` are four entries for the first four calls of one method; the
star repeats the last one. Several actions of one call are separated by commas.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from connect_dagster.errors import RetriableError
from connect_dagster.plugin.connector import SinkTaskContext

_WAIT_SECONDS = 120.0
_POLL_SECONDS = 0.01


def entry(script: str, call: int) -> str:
    """Return an action of a call.

    Args:
        script: entries of one method.
        call: number of the call, from 0.

    Returns:
        The entry without its star; empty where nothing is said of this call.
    """
    entries = [part.strip() for part in script.split(";")]
    repeated = entries[-1].endswith("*")
    said = entries[min(call, len(entries) - 1)] if repeated or call < len(entries) else ""
    return said.rstrip("* ")


def perform(said: str, context: SinkTaskContext) -> None:
    """Run an action.

    Raises:
        RetriableError: it says ``retry``.
        ValueError: it says ``fail``, or a word that is unknown.
    """
    for action in filter(None, (part.strip() for part in said.split(","))):
        word, _, argument = action.partition(" ")
        if word not in _WORDS:
            raise ValueError(f"unknown action {word!r}; known are {sorted(_WORDS)}")
        _WORDS[word](argument, context)


def _fail(text: str, _: SinkTaskContext) -> None:
    raise ValueError(text)


def _retry(milliseconds: str, context: SinkTaskContext) -> None:
    if milliseconds:
        context.timeout(int(milliseconds))
    raise RetriableError("not now")


def _rewind(offset: str, context: SinkTaskContext) -> None:
    context.offset(dict.fromkeys(context.assignment, int(offset)))


def _pause(partition: str, context: SinkTaskContext) -> None:
    context.pause(*(place for place in context.assignment if place.partition == int(partition)))


def _resume(partition: str, context: SinkTaskContext) -> None:
    context.resume(*(place for place in context.assignment if place.partition == int(partition)))


def _wait_for(file: str, _: SinkTaskContext) -> None:
    deadline = time.monotonic() + _WAIT_SECONDS
    while not Path(file).exists():
        if time.monotonic() > deadline:
            raise ValueError(f"{file} did not appear within {_WAIT_SECONDS:g} s")
        time.sleep(_POLL_SECONDS)


_WORDS: dict[str, Callable[[str, SinkTaskContext], None]] = {
    "fail": _fail,
    "ok": lambda _, __: None,
    "pause": _pause,
    "request-commit": lambda _, context: context.request_commit(),
    "resume": _resume,
    "retry": _retry,
    "rewind": _rewind,
    "wait-for": _wait_for,
}

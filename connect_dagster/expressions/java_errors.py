"""Errors of the JVM as Python gets them: with their causes, of Python and of Java."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from py4j.java_gateway import JavaObject
from py4j.protocol import Py4JJavaError, Py4JNetworkError
from pyspark.errors import PySparkException

# Spark's text of a failed job has the executor's stack, and behind this line that of the driver.
_DRIVER_STACK = "\nDriver stacktrace:"
_FRAME = re.compile(r"\s+(?:at |\.\.\. \d+ more)")


def chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and its causes."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def is_spark_gone(error: BaseException) -> bool:
    """Return whether Spark's JVM is gone."""
    return any(isinstance(one, Py4JNetworkError | ConnectionRefusedError) for one in chain(error))


def java_texts(error: BaseException) -> Iterator[str]:
    """Yield the texts of an error and of all its causes; those of Java with the frames of their stacks."""
    for one in chain(error):
        yield str(one)
        for cause in _java_causes(_java_origin(one)):
            yield f"{cause.toString()}\n" + "\n".join(frame.toString() for frame in cause.getStackTrace())


def summary(error: BaseException) -> str:
    """Return the text of an error and of its causes in the JVM in one line, without the frames of their stacks."""
    lines = (line.strip() for line in str(error).partition(_DRIVER_STACK)[0].splitlines() if not _FRAME.match(line))
    return " ".join(filter(None, lines))


def _java_origin(error: BaseException) -> Any:
    if isinstance(error, Py4JJavaError):
        return error.java_exception
    return getattr(error, "_origin", None) if isinstance(error, PySparkException) else None


def _java_causes(error: JavaObject | None) -> Iterator[JavaObject]:
    while error is not None:
        yield error
        error = error.getCause()

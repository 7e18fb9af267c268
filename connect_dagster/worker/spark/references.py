"""Release what Python and Spark's JVM hold of each other as soon as it is not used any more.

py4j keeps an object of the JVM alive until Python has freed its side of it, which is part of a cycle as soon as a
method was called: it waits for Python's collector, which may not come for minutes in a process that allocates little.
Batches of megabytes would fill the JVM's heap meanwhile (docs/decisions/0005-memory-of-the-jvm.md).

Each streaming query calls Python on a separate thread, over a connection that py4j never closes by itself: a thread
and a socket here, a socket and buffers in the JVM, for each query that was ever started.
"""

from __future__ import annotations

import gc
import logging
import threading
import time

from py4j import clientserver
from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

log = logging.getLogger(__name__)

_RELEASE_SECONDS = 0.05
# Containers; 700 by default.
_YOUNG_OBJECTS = 10_000
_LONG_SECONDS = 0.002
_LOOK_SECONDS = 60.0
# A tenth of a second of all threads: a connector that starts again, or a hundred that stop, are not to wait for each.
_LOOK_AFTER_END_SECONDS = 10.0

_last_look = time.monotonic()
_look_lock = threading.Lock()
_next_look: threading.Timer | None = None


def release_quickly() -> None:
    """Shorten the interval of the thread that releases references in the JVM; a second by default.

    Python's collector begins more rarely by itself: a task that polls lists makes three objects for each record, at
    which it looked again and again while the list was made. Batches are followed by :func:`let_go`.
    """
    clientserver.DEFAULT_WORKER_SLEEP_TIME = _RELEASE_SECONDS
    gc.set_threshold(_YOUNG_OBJECTS)


def let_go() -> None:
    """Release JVM objects that are not used any more; call it after each batch.

    A collection is long where much is loaded and many tasks keep their plans. Then all that is alive is left out of the
    next ones, which take a tenth of a millisecond again; once a minute it is looked at, as it may not be alive any
    more, such as connections of clients that came and went.
    """
    if time.monotonic() - _last_look > _LOOK_SECONDS:
        _look_at_all()
    _collect()


def look_soon() -> None:
    """Look within ten seconds at what was left out; call it at a task's end, for what it has kept."""
    global _next_look
    with _look_lock:
        if _next_look is None:
            _next_look = threading.Timer(_LOOK_AFTER_END_SECONDS, _look_after_end)
            _next_look.name = "look-at-references"
            _next_look.daemon = True
            _next_look.start()


def _look_after_end() -> None:
    global _next_look
    with _look_lock:
        _next_look = None
    _look_at_all()
    _collect()


def _collect() -> None:
    began = time.thread_time()
    gc.collect()
    if time.thread_time() - began > _LONG_SECONDS:
        gc.freeze()


def _look_at_all() -> None:
    global _last_look
    _last_look = time.monotonic()
    gc.unfreeze()


def close_idle_callbacks(spark: SparkSession) -> None:
    """Close the connections over which no query has called Python since the last time; call it after a query's end.

    A query that runs, but had no batch meanwhile, opens another one.
    """
    gateway = spark.sparkContext._gateway
    if gateway is None:  # Spark was stopped
        return
    try:
        gateway.java_gateway_server.getCallbackClient().periodicCleanup()
    except (Py4JError, OSError) as error:  # the JVM is gone, and they with it
        log.debug("The connections of queries that have ended were not closed: %s", error)

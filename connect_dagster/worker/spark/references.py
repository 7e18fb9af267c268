"""Release a batch's references in Spark's JVM as soon as Python is done with them.

py4j keeps an object of the JVM alive until Python has freed its side of it, which is part of a cycle as soon as a
method was called: it waits for Python's collector, which may not come for minutes in a process that allocates little.
Batches of megabytes would fill the JVM's heap meanwhile (docs/decisions/0005-memory-of-the-jvm.md).
"""

from __future__ import annotations

import gc

from py4j import clientserver

_RELEASE_SECONDS = 0.05


def watch_from_here() -> None:
    """Leave what is loaded by now out of all collections: they take a tenth of a millisecond instead of twenty."""
    gc.collect()
    gc.freeze()
    # Interval of the thread that releases references in the JVM; a second by default.
    clientserver.DEFAULT_WORKER_SLEEP_TIME = _RELEASE_SECONDS


def let_go() -> None:
    """Release JVM objects that are not used any more; call it after each batch."""
    gc.collect()

"""Compiles the kernels beside the start of a task, for the first one on a machine."""

from __future__ import annotations

import logging
import threading
import time

from connect_dagster.connectors.mysql.decode.kernels import compile_kernels

log = logging.getLogger(__name__)


def warm_up() -> threading.Thread:
    """Compile the kernels in a thread, which is returned; who calls one before waits for it alone."""
    thread = threading.Thread(target=_compile, name="compile-kernels", daemon=True)
    thread.start()
    return thread


def _compile() -> None:
    began = time.monotonic()
    count = compile_kernels()
    if count:
        log.info("%d kernels were compiled in %.1f s, once for this machine", count, time.monotonic() - began)

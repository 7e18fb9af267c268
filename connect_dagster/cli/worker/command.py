"""What the commands that run a worker have in common (Java: ``AbstractConnectCli``).

Exit codes are Java's: 1 usage, 2 the worker could not start, 3 a connector could not be created.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence

from setproctitle import setproctitle

from connect_dagster.cli.thread_dump import dump_on_quit
from connect_dagster.errors import ConnectError
from connect_dagster.java.properties import load_properties
from connect_dagster.worker import logs
from connect_dagster.worker.spark.jvm import SparkJvm
from connect_dagster.worker.spark.settings import spark_settings

log = logging.getLogger(__name__)

Run = Callable[[dict[str, str], Sequence[str], SparkJvm, threading.Event, float], int]
"""Runs a worker from its properties, further arguments, a JVM on its way up, an event that ends it, and when the
process began (``time.monotonic``); answers the exit code."""


def worker_command(title: str, usage: str, arguments: Sequence[str] | None, run: Run) -> None:
    """Run a worker until a signal stops it, then exit.

    Args:
        title: name of Java's command, which the process title begins with.
        usage: of the command, after ``Usage: ``.
        arguments: instead of the process's own.
        run: called when the worker's file is read.
    """
    began = time.monotonic()
    words = list(sys.argv[1:] if arguments is None else arguments)
    logs.configure()
    if not words or "--help" in words:
        log.info("Usage: %s", usage)
        sys.exit(1)
    setproctitle(" ".join([title, *words]))
    dump_on_quit()
    ending = _ending_on_signals()
    try:
        props = load_properties(words[0])
        jvm = SparkJvm(spark_settings(props))
    except ConnectError as error:
        log.error("Stopping due to error: %s", error)
        sys.exit(2)
    sys.exit(run(props, words[1:], jvm, ending, began))


def _ending_on_signals() -> threading.Event:
    """Set by Ctrl+C, SIGTERM, and the end of standard input where the starter asks for that."""
    ending = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ending.set())
    if os.environ.get("CONNECT_DAGSTER_EXIT_ON_STDIN_EOF") == "1":
        threading.Thread(target=_set_at_end_of_input, args=(ending,), name="stdin-watch", daemon=True).start()
    return ending


def _set_at_end_of_input(ending: threading.Event) -> None:
    while os.read(sys.stdin.fileno(), 1024):
        pass
    ending.set()

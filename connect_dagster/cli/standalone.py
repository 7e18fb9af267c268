"""``connect-standalone``: one worker process with its connectors (Java: ``ConnectStandalone``).

Exit codes are Java's: 1 usage, 2 the worker could not start, 3 a connector could not be created.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Sequence

from setproctitle import setproctitle

from connect_dagster.cli.thread_dump import dump_on_quit
from connect_dagster.plugin.errors import ConnectError
from connect_dagster.worker import logs
from connect_dagster.worker.jvm import SparkJvm
from connect_dagster.worker.properties import load_properties
from connect_dagster.worker.spark_settings import spark_settings

log = logging.getLogger(__name__)

USAGE = "Usage: ConnectStandalone worker.properties [connector1.properties connector2.json ...]"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a worker until a signal stops it."""
    began = time.monotonic()
    words = list(sys.argv[1:] if arguments is None else arguments)
    logs.configure()
    if not words or "--help" in words:
        log.info(USAGE)
        sys.exit(1)
    setproctitle(" ".join(["ConnectStandalone", *words]))
    dump_on_quit()
    sys.exit(_run(words[0], words[1:], began))


def _run(worker_file: str, connector_files: Sequence[str], began: float) -> int:
    ending = _ending_on_signals()
    try:
        props = load_properties(worker_file)
        jvm = SparkJvm(spark_settings(props))
    except ConnectError as error:
        log.error("Stopping due to error: %s", error)
        return 2
    # Only now: loading the rest takes as long as the JVM needs to come up.
    from connect_dagster.cli.standalone_worker import run

    return run(props, connector_files, jvm, ending, began)


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


if __name__ == "__main__":
    main()

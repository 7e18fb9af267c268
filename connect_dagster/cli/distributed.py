"""``connect-distributed``: one worker of a group (Java: ``ConnectDistributed``); further arguments are ignored."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from connect_dagster.cli.worker.command import worker_command
from connect_dagster.worker.spark.jvm import SparkJvm

USAGE = "ConnectDistributed worker.properties"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a worker until a signal stops it."""
    worker_command("ConnectDistributed", USAGE, arguments, _run)


def _run(props: dict[str, str], ignored: Sequence[str], jvm: SparkJvm, ending: threading.Event, began: float) -> int:
    # Only now: loading the rest takes as long as the JVM needs to come up.
    from connect_dagster.cli.worker.distributed import run

    return run(props, jvm, ending, began)


if __name__ == "__main__":
    main()

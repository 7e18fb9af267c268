"""``connect-standalone``: one worker process with its connectors (Java: ``ConnectStandalone``)."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from connect_dagster.cli.worker.command import worker_command
from connect_dagster.worker.spark.jvm import SparkJvm

USAGE = "ConnectStandalone worker.properties [connector1.properties connector2.json ...]"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a worker until a signal stops it."""
    worker_command("ConnectStandalone", USAGE, arguments, _run)


def _run(
    props: dict[str, str], connector_files: Sequence[str], jvm: SparkJvm, ending: threading.Event, began: float
) -> int:
    # Only now: loading the rest takes as long as the JVM needs to come up.
    from connect_dagster.cli.worker.standalone import run

    return run(props, connector_files, jvm, ending, began)


if __name__ == "__main__":
    main()

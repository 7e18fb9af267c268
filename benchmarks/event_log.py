"""`python -m benchmarks.event_log`: growth of Dagster's event log by the reports of workers and sensors.

A real instance with SQLite; a real REST API with ten connectors whose offsets move all the time, the worst case: each
of them is observed, and what it writes is materialised, in every interval. Bytes are those of the files on disk.
"""

import inspect
import sqlite3
import tempfile
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import click
import dagster as dg
from dagster import AssetMaterialization, AssetObservation, DagsterInstance

from connect_dagster.herder.interface import ConnectorOffset
from connect_dagster.orchestration import build_kafka_connect_polling_sensor
from connect_dagster.orchestration.assets.keys import worker_key
from connect_dagster.orchestration.workers.job import ConnectWorkerConfig
from connect_dagster.orchestration.workers.metadata import WorkerReport
from connect_dagster.orchestration.workers.process import WorkerProcess
from connect_dagster.protocol.states import TargetState
from tests.unit.orchestration.connect_server import ConnectServer, connect_server

CONNECTORS = 10
EVENTS = 300  # SQLite grows by pages: enough of them to be exact
DAY_SECONDS = 86_400
ALLOWED_MB = 20.0


@dataclass(frozen=True, slots=True)
class Growth:
    """The growth by one kind of event.

    Attributes:
        what: The events.
        bytes_each: On disk, indexes included.
        a_day: How many there are at the default intervals.
    """

    what: str
    bytes_each: float
    a_day: float

    @property
    def megabytes_a_day(self) -> float:
        """Return the growth in 24 hours."""
        return self.bytes_each * self.a_day / 1e6


def main() -> None:
    """Measure, and print the growth of 24 hours."""
    with tempfile.TemporaryDirectory(prefix="connect-dagster-bench-") as name, connect_server() as server:
        for number in range(CONNECTORS):
            end = "topics" if number % 2 else "topic"
            keys = {"file": f"/data/file-{number}.txt", end: f"topic-{number}"}
            server.create(f"connector-{number}", TargetState.STARTED, **keys)
        with DagsterInstance.local_temp(name, overrides={"telemetry": {"enabled": False}}) as instance:
            growths = [_worker(instance, server, Path(name)), *_connectors(instance, server, Path(name))]
    for growth in growths:
        click.echo(
            f"{growth.what:<60} {growth.bytes_each:8,.0f} B each {growth.a_day:7,.0f} a day "
            f"{growth.megabytes_a_day:6.1f} MB a day"
        )
    total = sum(growth.megabytes_a_day for growth in growths)
    click.echo(
        f"24 h at default intervals, {CONNECTORS} connectors, 1 worker: {total:.1f} MB (allowed: {ALLOWED_MB:g} MB)"
    )


def _worker(instance: DagsterInstance, server: ConnectServer, folder: Path) -> Growth:
    """Write the observations that a worker's run reports."""

    @dg.op
    def report(context: dg.OpExecutionContext) -> None:
        worker = WorkerProcess.spawn(["sleep", "600"])
        running = WorkerReport(server.workspace.get_client(), "127.0.0.1:8083").running
        try:
            for _ in range(EVENTS):
                context.log_event(AssetObservation(worker_key("standalone"), metadata=running(worker)))
                for _ in context.consume_events():
                    pass
        finally:
            worker.stop(grace=1)

    @dg.job(executor_def=dg.in_process_executor)
    def host() -> None:
        report()

    grown = _grown(folder, lambda: host.execute_in_process(instance=instance))
    interval = ConnectWorkerConfig.model_fields["report_interval"].default
    return Growth(f"a worker, every {interval:g} s", grown / EVENTS, DAY_SECONDS / interval)


def _connectors(instance: DagsterInstance, server: ConnectServer, folder: Path) -> list[Growth]:
    """Write events of the polling sensor, when every connector's offsets have moved since the last ones."""
    events = _polled(instance, server)
    interval = inspect.signature(build_kafka_connect_polling_sensor).parameters["event_interval_seconds"].default
    growths = []
    for kind, what in ((AssetObservation, "connectors"), (AssetMaterialization, "outputs")):
        chosen = [event for event in events if isinstance(event, kind)]
        grown = _grown(folder, partial(_report, instance, chosen))
        what = f"{CONNECTORS} {what}, every {interval:g} s"
        growths.append(Growth(what, grown / len(chosen), CONNECTORS * DAY_SECONDS / interval))
    return growths


def _report(instance: DagsterInstance, events: Iterable[AssetObservation | AssetMaterialization]) -> None:
    for event in events:
        instance.report_runless_asset_event(event)


def _polled(instance: DagsterInstance, server: ConnectServer) -> list[AssetObservation | AssetMaterialization]:
    """Return the events of ticks, one of each kind for each connector and tick."""
    sensor = build_kafka_connect_polling_sensor(workspace=server.workspace, event_interval_seconds=0)
    events: list[AssetObservation | AssetMaterialization] = []
    cursor = None
    while len(events) < 2 * EVENTS:
        for name in server.herder.configs:
            offset = ConnectorOffset({"filename": f"/data/{name}.txt"}, {"position": 1_000_000 + len(events)})
            server.herder.offsets[name] = [offset]
        with dg.build_sensor_context(instance=instance, cursor=cursor) as context:
            result = sensor(context)
        assert isinstance(result, dg.SensorResult)
        cursor = result.cursor
        events += [event for event in result.asset_events if isinstance(event, AssetObservation | AssetMaterialization)]
    return events


def _grown(folder: Path, act: Callable[[], object]) -> int:
    """Return the bytes by which the files grow."""
    before = _size(folder)
    act()
    return _size(folder) - before


def _size(folder: Path) -> int:
    for file in folder.rglob("*.db"):
        with closing(sqlite3.connect(file)) as database:
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return sum(file.stat().st_size for file in folder.rglob("*.db"))


if __name__ == "__main__":
    main()

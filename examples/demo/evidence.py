"""Evidence that the demo worked: lines, offsets, lag, Spark's rows, and what Dagster recorded.

Everything is read where it is kept: the two files, the broker, the worker's REST API, Dagster's storage.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from confluent_kafka import KafkaException
from dagster import AssetKey, AssetRecordsFilter, DagsterInstance, DagsterRunStatus, RunRecord, RunsFilter

from connect_dagster.client.rest_client import KafkaConnectError
from connect_dagster.orchestration.assets.keys import file_key, topic_key
from connect_dagster.orchestration.observations.topic_offsets import (
    Bounds,
    Partition,
    fetch_committed,
    fetch_topic_bounds,
    lag,
)
from connect_dagster.orchestration.workers.job import WORKER_JOB
from examples.demo.project import SINK, SOURCE, TOPIC, DemoProject

REQUEST_TIMEOUT = 5.0
TASKS = (f"{SOURCE}-0", f"{SINK}-0")


@dataclass(frozen=True, slots=True)
class Evidence:
    """The demo at one moment.

    Attributes:
        expected: Lines the access log shall have.
        compared: Lines that are equal in access log and sink file, from the first on.
        difference: The first lines that are not, as text; None when there is none.
        end_offsets: End offset of each partition of the topic.
        lag: Records the sink's consumer group has not committed.
        spark_rows: Rows that went through Spark, by task.
        run: The newest run of the worker's job.
        materialized: How many materialisations each asset has, and the numbers of the last one.
    """

    expected: int
    compared: int
    difference: str | None
    end_offsets: Mapping[Partition, int]
    lag: int
    spark_rows: Mapping[str, int]
    run: RunRecord | None
    materialized: Mapping[AssetKey, tuple[int, int]]

    def missing(self) -> list[str]:
        """Deviations from the expected result; empty when there are none."""
        return list(self._missing())

    def _missing(self) -> Iterator[str]:
        if self.difference or self.compared != self.expected:
            yield f"{self.compared:,} of {self.expected:,} lines are in the sink file{self.difference or ''}"
        if (total := sum(self.end_offsets.values())) != self.expected:
            yield f"the topic ends at {total:,} instead of {self.expected:,}"
        if self.lag:
            yield f"the sink's group lags by {self.lag:,} records"
        for task in TASKS:
            if (rows := self.spark_rows.get(task, 0)) != self.expected:
                yield f"{rows:,} rows instead of {self.expected:,} went through Spark for {task}"
        if self.run is None or self.run.dagster_run.status is not DagsterRunStatus.STARTED:
            yield f"no run of {WORKER_JOB} is under way"
        for key, (_, number) in self.materialized.items():
            if number != self.expected:
                yield f"the last materialisation of {key.to_user_string()} has {number:,} records"

    def lines(self) -> Iterator[str]:
        """Return the report, a fact a line."""
        yield f"lines compared        {self.compared:,} equal, one by one"
        for (topic, partition), end in sorted(self.end_offsets.items()):
            yield f"end offset            {topic}-{partition}: {end:,}"
        yield f"lag of the sink       {self.lag:,}  (group connect-{SINK})"
        for task, rows in sorted(self.spark_rows.items()):
            yield f"rows through Spark    {task}: {rows:,}"
        if self.run:
            run = self.run.dagster_run
            yield f"Dagster run           {run.run_id}  ({run.status.value})"
        for key, (count, number) in self.materialized.items():
            yield f"materialisations      {key.to_user_string()}: {count}, the last at {number:,} records"


def gather(project: DemoProject, instance: DagsterInstance, expected: int) -> Evidence:
    """Read everything now; what cannot be read yet counts as missing."""
    bounds, committed = _broker_facts(project)
    compared, difference = compare(project.access_log, project.sink_file)
    return Evidence(
        expected=expected,
        compared=compared,
        difference=difference,
        end_offsets={partition: edge.end for partition, edge in bounds.items()},
        lag=lag(bounds, committed),
        spark_rows=_spark_rows(project),
        run=newest_worker_run(instance),
        materialized={
            topic_key(TOPIC): _materialized(instance, topic_key(TOPIC), "end_offset_total"),
            _sink_key(project): _materialized(instance, _sink_key(project), "offset_total"),
        },
    )


def newest_worker_run(instance: DagsterInstance) -> RunRecord | None:
    """Return the newest run of the worker's job, if there is one."""
    return next(iter(instance.get_run_records(RunsFilter(job_name=WORKER_JOB), limit=1)), None)


def count_lines(file: Path) -> int:
    """Lines of a file that have their newline; 0 when it does not exist."""
    return file.read_bytes().count(b"\n") if file.exists() else 0


def compare(source: Path, sink: Path) -> tuple[int, str | None]:
    """How many lines are equal from the first on; and the first that is not, unless it is only not there yet."""
    if not (source.exists() and sink.exists()):
        return 0, None
    equal = 0
    with source.open("rb") as sent, sink.open("rb") as received:
        for number, (one, other) in enumerate(zip_longest(sent, received), 1):
            if one != other:
                wanted = "nothing" if one is None else repr(one)
                return equal, None if other is None else f"; line {number} is {other!r} instead of {wanted}"
            equal += 1
    return equal, None


def _broker_facts(project: DemoProject) -> tuple[dict[Partition, Bounds], dict[Partition, int]]:
    """Return the topic's bounds and what the sink committed; nothing while partition or group have no leader yet."""
    try:
        bounds = fetch_topic_bounds(project.bootstrap_servers, [TOPIC], REQUEST_TIMEOUT)
        return bounds, fetch_committed(project.bootstrap_servers, f"connect-{SINK}", bounds, REQUEST_TIMEOUT)
    except KafkaException:
        return {}, {}


def _sink_key(project: DemoProject) -> AssetKey:
    return file_key(str(project.sink_file))


def _spark_rows(project: DemoProject) -> dict[str, int]:
    try:
        return {task: progress.total_input_rows for task, progress in project.client().progress().items()}
    except KafkaConnectError:
        return {}


def _materialized(instance: DagsterInstance, key: AssetKey, number: str) -> tuple[int, int]:
    """Return the number of materialisations of an asset, and the metadata ``number`` of the last one."""
    records = instance.fetch_materializations(AssetRecordsFilter(key), limit=1000).records
    if not records or (last := records[0].asset_materialization) is None:
        return 0, 0
    told = last.metadata.get(number)
    return len(records), int(str(told.value)) if told else 0

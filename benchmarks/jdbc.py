"""Tables to topics and topics to tables, compared with Java, Spark and the databases alone on the same rows.

    make bench OF=jdbc

One server each of MariaDB and PostgreSQL, one worker for all, and a tuned one of Java with a connector that reads a
table row by row (`TableSource.java`). Everything is done once before the clock runs, as a
JVM still compiles through its first million rows. Each repetition has both sides of every ratio in turn.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from benchmarks.contestants import OURS, Contestant, Running, running, tuned
from benchmarks.measure import Deadline, InvalidCellError, Stopwatch
from benchmarks.topics import Topics
from benchmarks.workload import Format
from connect_dagster.connectors.jdbc.database import Database as JdbcDatabase
from connect_dagster.embedded.broker import EmbeddedBroker
from connect_dagster.embedded.jars import resolve
from connect_dagster.embedded.java import find_java
from connect_dagster.plugin.config import Password
from connect_dagster.worker.spark.session import Session
from connect_dagster.worker.spark.settings import driver_jars
from tests.databases import PASSWORD, USER, Database, MariaDB, PostgreSQL

_BROKER_HEAP = "2g"
_TABLE = "products"
_COLUMNS = (
    "seq INT NOT NULL PRIMARY KEY, name VARCHAR(50) NOT NULL, created TIMESTAMP NOT NULL, modified TIMESTAMP NOT NULL"
)
_JAVA = "io.confluent.connect.jdbc"
_CONNECTOR = Path(__file__).with_name("TableSource.java")
_JAVA_ROWS = "10000"
_SLOWEST = 2_000  # rows a second
_LEAST_SECONDS = 60.0
_POLL_SECONDS = 0.05
_BLOCK = 1 << 20


@dataclass(slots=True)
class Ratio:
    """A row of the table: our rate, and that of something that does less.

    Attributes:
        title: what we do.
        beside: what the database or Spark does alone.
        target: the least ratio wanted.
        ours, alone: rows per second of each repetition.
        cpu: seconds of our worker's processes for a million rows.
    """

    title: str
    beside: str
    target: float
    ours: list[float] = field(default_factory=list)
    alone: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    def line(self) -> str:
        """Return a row of the table."""
        ours, alone = statistics.median(self.ours), statistics.median(self.alone)
        sign = "✓" if ours / alone >= self.target else "✗"
        ratio = f"{ours / alone:.2f}x | {sign} {self.target:g}x"
        return (
            f"| {self.title} | {ours / 1e3:,.0f} | {statistics.median(self.cpu):.1f} "
            f"| {self.beside} | {alone / 1e3:,.0f} | {ratio} |"
        )


@dataclass(frozen=True, slots=True)
class Place:
    """The environment of the rows: servers, broker, worker, Spark.

    Attributes:
        file: all rows, as a database loads them.
    """

    rows: int
    file: Path
    maria: Database
    postgres: Database
    topics: Topics
    worker: Running
    java: Running
    session: Session


@click.command()
@click.option("--rows", default=1_000_000, show_default=True, type=click.IntRange(min=10))
@click.option("--repetitions", default=3, show_default=True, type=click.IntRange(min=1))
def main(rows: int, repetitions: int) -> None:
    """Measure the JDBC connectors; ends with 1 when one failed or moved other rows than it was given."""
    source = Ratio("the same", "Spark's read of the table", 0.35)
    beside_java = Ratio(
        "MariaDB to topic, JSON with schema", "Java tuned, the same rows", 2.2, ours=source.ours, cpu=source.cpu
    )
    upsert = Ratio("topic to MariaDB, upsert", "LOAD DATA of the rows", 0.35)
    insert = Ratio("topic to PostgreSQL, insert", "COPY of the rows", 0.35)
    upsert_too = Ratio("topic to PostgreSQL, upsert", "COPY of the rows", 0.35)
    try:
        with _place(rows) as place:
            _spark_read(place)
            _by_java(place)
            _sinks(place, _to_topic(place, None), [None, None, None])
            for _ in range(repetitions):
                source.alone.append(rows / _spark_read(place))
                beside_java.alone.append(_by_java(place))
                topic = _to_topic(place, source)
                upsert.alone.append(rows / _loaded(place, _fresh(place.maria, "loaded")))
                insert.alone.append(rows / _copied(place, _fresh(place.postgres, "copied")))
                upsert_too.alone.append(insert.alone[-1])
                _sinks(place, topic, [upsert, insert, upsert_too])
    except InvalidCellError as error:
        click.echo(f"void: {error}", err=True)
        sys.exit(1)
    head = f"| {rows:,} rows | ours, k/s | CPU-s/M | beside | k/s | ratio | target |\n|---|---|---|---|---|---|---|"
    click.echo("\n".join([head, *(ratio.line() for ratio in (beside_java, source, upsert, insert, upsert_too))]))


@contextmanager
def _place(rows: int) -> Iterator[Place]:
    with tempfile.TemporaryDirectory(prefix="connect-dagster-bench-") as name:
        folder = Path(name)
        folder.chmod(0o755)  # the database's own user goes through it
        for server in ("maria", "postgres"):
            (folder / server).mkdir()
        with (
            EmbeddedBroker(folder / "broker", 0, heap=_BROKER_HEAP, jvm=()) as broker,
            MariaDB(folder / "maria") as maria,
            PostgreSQL(folder / "postgres") as postgres,
            closing(Topics(broker.bootstrap_servers)) as topics,
            _session() as session,
            running(OURS, Format.JSON, broker.bootstrap_servers, folder / "worker") as worker,
            running(_java(folder / "classes"), Format.JSON, broker.bootstrap_servers, folder / "java") as java,
        ):
            place = Place(
                rows,
                _written(folder / "rows.tsv", rows),
                maria.new_database("kafkadb"),
                postgres.new_database("kafkadb"),
                topics,
                worker,
                java,
                session,
            )
            _load(_fresh(place.maria, _TABLE), place.file, _TABLE)
            for one in (worker, java):
                one.wait_ready()
            yield place


def _java(classes: Path) -> Contestant:
    """Return Java's tuned worker with the connector that is compiled into a folder, and our drivers."""
    connect = os.pathsep.join(map(str, resolve("java-connect")))
    compiler = find_java().with_name("javac")
    subprocess.run([compiler, "-cp", connect, "-d", classes, _CONNECTOR], check=True)
    return tuned([classes, *driver_jars({})])


@contextmanager
def _session() -> Iterator[Session]:
    session = Session.launched({})
    session.warm_up()
    try:
        yield session
    finally:
        session.stop()


def _written(file: Path, rows: int) -> Path:
    with file.open("w", encoding="utf-8") as out:
        for number in range(1, rows + 1):
            second = f"2022-01-{1 + number % 28:02} {number % 24:02}:{number % 60:02}:00"
            out.write(f"{number}\tproduct {number * 7919 % 100_003}\t{second}\t{second}\n")
    return file


def _fresh(database: Database, table: str) -> Database:
    database.execute(f"DROP TABLE IF EXISTS {table}", f"CREATE TABLE {table} ({_COLUMNS})")
    return database


def _load(database: Database, file: Path, table: str) -> None:
    database.execute(f"LOAD DATA LOCAL INFILE '{file}' INTO TABLE {table}")


def _loaded(place: Place, database: Database) -> float:
    began = time.monotonic()
    _load(database, place.file, "loaded")
    return time.monotonic() - began


def _copied(place: Place, database: Database) -> float:
    began = time.monotonic()
    with (
        database.connected() as connection,
        connection.cursor().copy("COPY copied FROM STDIN") as copy,
        place.file.open("rb") as rows,
    ):
        while block := rows.read(_BLOCK):
            copy.write(block)
    return time.monotonic() - began


def _spark_read(place: Place) -> float:
    told = JdbcDatabase.of(place.maria.jdbc_url, USER, Password(PASSWORD), {}).spark_options()
    began = time.monotonic()
    rows = place.session.spark.read.format("jdbc").options(**told, dbtable=_TABLE).load()
    rows.write.format("noop").mode("overwrite").save()
    return time.monotonic() - began


def _to_topic(place: Place, ratio: Ratio | None) -> str:
    """Run a source over the table; answers its topic."""
    connector = _source(place, f"{_JAVA}.JdbcSourceConnector")
    topic = connector["topic.prefix"] + _TABLE
    _timed(place, place.worker, connector, lambda: place.topics.end_offset(topic), ratio)
    return topic


def _by_java(place: Place) -> float:
    """Run Java's source over the table; return its rows per second."""
    connector = {**_source(place, _CONNECTOR.stem), "batch.max.rows": _JAVA_ROWS}
    connector |= {"connection.url": place.maria.jdbc_url.replace("mysql", "mariadb")}
    topic = connector["topic.prefix"] + _TABLE
    return _timed(place, place.java, connector, lambda: place.topics.end_offset(topic), None)


def _source(place: Place, kind: str) -> dict[str, str]:
    """Return the properties of a new source over the table, whose topic is there."""
    name = f"source-{time.monotonic_ns()}"
    place.topics.create([f"{name}-{_TABLE}"])
    return {
        "name": name,
        "connector.class": kind,
        "tasks.max": "1",
        **place.maria.connection_config,
        "mode": "incrementing",
        "incrementing.column.name": "seq",
        "table.whitelist": _TABLE,
        "topic.prefix": f"{name}-",
        "poll.interval.ms": "1000",
    }


def _sinks(place: Place, topic: str, ratios: Sequence[Ratio | None]) -> None:
    for ratio, (database, mode) in zip(
        ratios, ((place.maria, "upsert"), (place.postgres, "insert"), (place.postgres, "upsert")), strict=True
    ):
        _fresh(database, "target")
        connector = {
            "name": f"sink-{time.monotonic_ns()}",
            "connector.class": f"{_JAVA}.JdbcSinkConnector",
            "tasks.max": "1",
            "topics": topic,
            "table.name.format": "target",
            **database.connection_config,
            "insert.mode": mode,
            **({"pk.mode": "record_value", "pk.fields": "seq"} if mode == "upsert" else {}),
        }
        _timed(place, place.worker, connector, _last_row(database), ratio)
        ((found,),) = database.query("SELECT COUNT(*) FROM target")
        if found != place.rows:
            raise InvalidCellError(f"{connector['name']} wrote {found} of {place.rows} rows")


def _last_row(database: Database) -> Callable[[], Any]:
    return lambda: database.query("SELECT COALESCE(MAX(seq), 0) FROM target")[0][0]


def _timed(
    place: Place, worker: Running, connector: Mapping[str, str], reached: Callable[[], int], ratio: Ratio | None
) -> float:
    """Run a connector until all rows have passed; return its rows per second."""
    rows = place.rows
    worker.processes.settle()
    watch = Stopwatch(worker.processes)
    worker.create(connector)
    deadline = Deadline(_LEAST_SECONDS + rows / _SLOWEST, f"{connector['name']} moves {rows} rows")

    worker.await_end(deadline, lambda: reached() >= rows, _POLL_SECONDS)
    window = watch.stop()
    worker.delete(connector["name"])
    rate, cpu = rows / window.seconds, window.cpu_seconds * 1e6 / rows
    click.echo(f"{connector['connector.class']}: {rate / 1e3:,.0f} k/s, {cpu:.1f} CPU-s/M", err=True)
    if ratio is not None:
        ratio.ours.append(rate)
        ratio.cpu.append(cpu)
    return rate


if __name__ == "__main__":
    main()

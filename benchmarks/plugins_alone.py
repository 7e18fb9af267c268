"""Each converter and each transform alone, without Kafka: Java's class in a loop, ours in a Spark plan, in turn.

Both hold the same records in memory as typed data. Java's loop runs on one core, as a task of Java's worker does;
Spark uses all of them, as a task of ours does.
"""

import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from benchmarks.plugin_cases import CASES, Case
from connect_dagster.converters.json.converter import JsonConverter
from connect_dagster.converters.plain.simple_header_converter import SimpleHeaderConverter
from connect_dagster.embedded.jars import resolve
from connect_dagster.embedded.java import find_java
from connect_dagster.errors import ConnectError
from connect_dagster.isolation.plugins import Plugins
from connect_dagster.plugin.converter import Converter, Decoder
from connect_dagster.plugin.schema import Schema
from connect_dagster.worker.frames import WorkerSinkFrame
from connect_dagster.worker.spark.session import Session
from connect_dagster.worker.transforms import TransformationStage, apply_chain
from tests.registry_converters import JAVAS_JARS, registry_options
from tests.registry_server import registry_server

_PROGRAM = Path(__file__).with_name("RecordsBench.java")
_TARGET = 2.0
_SCHEMA = {
    "type": "struct",
    "optional": False,
    "name": "shop.Order",
    "fields": [
        {"type": "int64", "optional": False, "field": "id"},
        {"type": "string", "optional": False, "field": "name"},
        {"type": "double", "optional": False, "field": "score"},
        {"type": "boolean", "optional": False, "field": "active"},
        {
            "type": "int64",
            "optional": False,
            "name": "org.apache.kafka.connect.data.Timestamp",
            "version": 1,
            "field": "at",
        },
        {
            "type": "struct",
            "optional": False,
            "name": "shop.Address",
            "field": "address",
            "fields": [
                {"type": "string", "optional": True, "field": "city"},
                {"type": "int32", "optional": False, "field": "zip"},
            ],
        },
    ],
}


@dataclass(frozen=True, slots=True)
class Figure:
    """The result of one case: records per second of both sides, or the reason for a missing figure."""

    case: Case
    java: Sequence[float] = ()
    ours: Sequence[float] = ()
    why: str | None = None

    @property
    def ratio(self) -> float:
        """Return the ratio of ours to Java's."""
        return statistics.median(self.ours) / statistics.median(self.java)

    def line(self) -> str:
        """Return a row of the table."""
        if self.why is not None:
            return f"| {self.case.name} | void: {self.why} | – | – | – |"
        java, ours = statistics.median(self.java) / 1e3, statistics.median(self.ours) / 1e3
        sign = "✓" if self.ratio >= _TARGET else "✗"
        return f"| {self.case.name} | {java:,.0f} | {ours:,.0f} | {self.ratio:.2f}x | {sign} |"


@click.command()
@click.option("--records", default=500_000, show_default=True, help="Records held in memory.")
@click.option("--rounds", default=5, show_default=True, help="Rounds over all of them; the first two only warm up.")
@click.option("--only", multiple=True, help="Only cases whose name holds this text; repeatable.")
def main(records: int, rounds: int, only: Sequence[str]) -> None:
    """Compare plugins alone; ends with 1 when a case has no figure."""
    cases = [case for case in CASES if not only or any(text in case.name for text in only)]
    with tempfile.TemporaryDirectory() as folder, registry_server(Path(folder) / "registry") as registry:
        file = Path(folder) / "records.json"
        file.write_text("".join(f"{_envelope(number)}\n" for number in range(records)), encoding="utf-8")
        with _java(file) as java, _Ours.opened(file, registry) as ours:
            figures = []
            for case in cases:
                figures.append(_measured(case, java, ours, registry, records, rounds))
                click.echo(figures[-1].line(), err=True)
    head = f"| plugin alone, {records} records | Java, k rec/s | ours, k rec/s | ratio | ≥ {_TARGET:g}x |"
    click.echo("\n".join([head, "|---|---|---|---|---|", *(figure.line() for figure in figures)]))
    sys.exit(1 if any(figure.why for figure in figures) else 0)


def _measured(
    case: Case, java: subprocess.Popen[str], ours: "_Ours", registry: str, records: int, rounds: int
) -> Figure:
    try:
        theirs = _ask(java, case, registry, rounds)
        run = ours.planned(case)
        taken = []
        for _ in range(rounds):
            began = time.monotonic()
            run()
            taken.append(time.monotonic() - began)
    except (ConnectError, ValueError) as error:
        return Figure(case, why=str(error))
    return Figure(case, [records / each for each in theirs[2:]], [records / each for each in taken[2:]])


@contextmanager
def _java(file: Path) -> Iterator[subprocess.Popen[str]]:
    jars = os.pathsep.join(str(jar) for name in ("java-connect", JAVAS_JARS) for jar in resolve(name))
    command = [str(find_java()), "-Xmx3g", "-cp", jars, str(_PROGRAM), str(file)]
    child = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    with child:
        yield child
        assert child.stdin is not None
        child.stdin.close()


def _ask(java: subprocess.Popen[str], case: Case, registry: str, rounds: int) -> list[float]:
    assert java.stdin is not None
    assert java.stdout is not None
    name = case.counterpart or case.java_class
    config = {**case.options, **registry_options(name, registry)}
    told = {"class": name, "config": config, "do": case.action, "rounds": rounds}
    java.stdin.write(json.dumps({**told, **({"field": case.part} if case.part else {})}) + "\n")
    java.stdin.flush()
    answer = java.stdout.readline()
    if not answer:
        raise ValueError(f"Java ended at {case.name}")
    return list(json.loads(answer)["seconds"])


class _Ours:
    """The records in Spark's memory.

    Args:
        session: Spark.
        file: of envelopes.
        registry: its ``schema.registry.url``.
    """

    def __init__(self, session: Session, file: Path, registry: str) -> None:
        self._plugins = Plugins()
        self._registry = registry
        converter = JsonConverter()
        converter.configure({}, is_key=False)
        text = session.spark.read.text(str(file)).repartition(os.cpu_count() or 1)
        given = text.select(F.col("value").cast("binary").alias("value"))
        (decoder,) = (one for one in converter.decoders(given, "value") if one.schema is not None)
        headers = SimpleHeaderConverter()
        headers.configure_headers({})
        self._frame = WorkerSinkFrame(self._kept(_records(given, decoder)), decoder.schema, None, headers)

    @classmethod
    @contextmanager
    def opened(cls, file: Path, registry: str) -> Iterator["_Ours"]:
        """Cache the records for the duration of the block."""
        session = Session.launched({"spark.driver.memory": "3g"})
        session.warm_up()
        try:
            yield cls(session, file, registry)
        finally:
            session.stop()

    def planned(self, case: Case) -> Any:
        """Return a function that runs the case once over all records. Raises ConnectError for an unknown plugin."""
        if case.action == "apply":
            return _writer(self._transformed(case))
        converter = self._plugins.converter(case.java_class).plugin()
        converter.configure({**case.options, **registry_options(case.java_class, self._registry)}, is_key=False)
        schema, frame = self._part(case)
        written = frame.select(converter.encode_for("topic", schema, F.col("value")).alias("value"))
        return _writer(written if case.action == "write" else self._read(converter, self._kept(written)))

    def _transformed(self, case: Case) -> DataFrame:
        transform = self._plugins.transformation(case.java_class).plugin()
        transform.configure(case.options)
        (frame,) = apply_chain([TransformationStage("t", transform)], self._frame)
        return frame.df

    def _part(self, case: Case) -> tuple[Schema | None, DataFrame]:
        if case.part is None:
            return self._frame.value_schema, self._frame.df
        assert self._frame.value_schema is not None
        (schema,) = (one.schema for one in self._frame.value_schema.fields if one.name == case.part)
        return schema, self._kept(self._frame.df.select(F.col("value")[case.part].alias("value")))

    def _read(self, converter: Converter, df: DataFrame) -> DataFrame:
        found = [one for one in converter.decoders(df, "value") if not _reads_nothing(one, df)]
        (decoder,) = found
        return df.select(decoder.value.alias("value"))

    def _kept(self, df: DataFrame) -> DataFrame:
        kept = df.persist(StorageLevel.MEMORY_ONLY)
        kept.count()
        return kept


def _reads_nothing(decoder: Decoder, df: DataFrame) -> bool:
    return decoder.matches is not None and df.where(decoder.matches).isEmpty()


def _records(given: DataFrame, decoder: Decoder) -> DataFrame:
    return given.select(
        F.lit("topic").alias("topic"),
        F.lit(0).alias("partition"),
        F.monotonically_increasing_id().alias("offset"),
        F.lit(1_700_000_000_000).alias("timestamp"),
        F.lit(None).cast("array<struct<key: string, value: binary>>").alias("headers"),
        F.lit(None).cast("string").alias("key"),
        decoder.value.alias("value"),
    )


def _writer(df: DataFrame) -> Any:
    return lambda: df.write.format("noop").mode("overwrite").save()


def _envelope(number: int) -> str:
    chance = random.Random(number)
    payload = {
        "id": number,
        "name": f"customer {chance.getrandbits(24)}",
        "score": chance.random() * 100,
        "active": number % 3 == 0,
        "at": 1_700_000_000_000 + number,
        "address": {"city": None if number % 10 == 0 else f"city {number % 500}", "zip": 10_000 + number % 9_000},
    }
    return json.dumps({"schema": _SCHEMA, "payload": payload})


if __name__ == "__main__":
    main()

"""Plans that are kept beside those that are made for each batch: the same bytes in the same order."""

import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_type

from connect_dagster import scratch
from connect_dagster.converters.json.converter import JsonConverter
from connect_dagster.converters.plain.simple_header_converter import SimpleHeaderConverter
from connect_dagster.plugin.converter import Predicate, Transform
from connect_dagster.plugin.frames import SourceQuery, SourceTable
from connect_dagster.plugin.lines import SourceBatch, SourceLines, pieces
from connect_dagster.plugin.records import Header, SourceRecord
from connect_dagster.plugin.schema import STRING_SCHEMA, Schema, SchemaField, SchemaType
from connect_dagster.predicates.record_is_tombstone import RecordIsTombstone
from connect_dagster.predicates.topic_name_matches import TopicNameMatches
from connect_dagster.transforms.extract_field import ExtractFieldKey
from connect_dagster.transforms.filter import Filter
from connect_dagster.transforms.hoist_field import HoistFieldValue
from connect_dagster.transforms.insert_field import InsertFieldValue
from connect_dagster.transforms.regex_router import RegexRouter
from connect_dagster.transforms.timestamp_router import TimestampRouter
from connect_dagster.transforms.value_to_key import ValueToKey
from connect_dagster.worker.bytes_bound import EncodedBound
from connect_dagster.worker.errors.policy import ErrorPolicy
from connect_dagster.worker.record_frames import tables_of
from connect_dagster.worker.source import kept_plans
from connect_dagster.worker.source.batches import Encoded, PlannedBefore, SourceBatches, SubmittedBatch
from connect_dagster.worker.source.pipeline import SourcePipeline
from connect_dagster.worker.spark import table_slot, text_slot
from connect_dagster.worker.spark.text_slot import TextSlot
from connect_dagster.worker.transforms import TransformationStage

PLACE = {"file": "a"}
TEXT = Schema(SchemaType.STRING, optional=True)
PERSON = Schema(
    SchemaType.STRUCT,
    fields=(SchemaField("name", STRING_SCHEMA), SchemaField("born", Schema(SchemaType.INT32, optional=True))),
)
LINE = st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]))
LINES = st.lists(st.tuples(LINE, st.sampled_from(["\n", "\r\n", "\r"])), min_size=1)


def converter() -> JsonConverter:
    made = JsonConverter()
    made.configure({}, is_key=False)
    return made


@pytest.fixture(scope="module")
def batches(spark: SparkSession) -> Iterator[SourceBatches]:
    made = source_batches(spark)
    yield made
    made.close()


def source_batches(
    spark: SparkSession,
    transforms: Sequence[TransformationStage] = (),
    policy: ErrorPolicy | None = None,
    bound: EncodedBound | None = None,
) -> SourceBatches:
    pipeline = SourcePipeline(transforms, converter(), converter(), SimpleHeaderConverter())
    return SourceBatches(spark, pipeline, policy or ErrorPolicy(), bound)


def by_kept_plan(batches: SourceBatches, batch: SourceBatch) -> Encoded:
    planned = batches.planned(batch)
    assert isinstance(planned, PlannedBefore)
    return batches.encoded(planned)


def same(spark: SparkSession, batches: SourceBatches, batch: SourceTable | SourceLines | SourceQuery) -> pa.Table:
    """Return what a kept plan makes of a batch, which is what its own plan makes."""
    kept, own = by_kept_plan(batches, batch), batches.encoded(batches.planned(batch.frame(spark)))
    assert (kept.polled, kept.counted(), [*kept.failed]) == (own.polled, own.counted(), [*own.failed])
    assert kept.table.schema == own.table.schema
    assert kept.table.to_pylist() == own.table.to_pylist()
    return kept.table


def lines(data: bytes, topic: str = "t") -> SourceLines:
    return SourceLines(data, PLACE, {"position": len(data)}, topic)


def people(*values: dict[str, Any] | None) -> SourceTable:
    rows = pa.table({"value": pa.array(values, to_arrow_type(PERSON.to_spark()))})
    return SourceTable(rows, PLACE, {}, topic="t", value_schema=PERSON)


MANY = 12_000  # more than are evaluated without a job
MANY_PEOPLE = people(*({"name": f"a{number}", "born": number} for number in range(MANY)))


@settings(max_examples=25)
@given(found=LINES)
def test_few_lines(spark: SparkSession, batches: SourceBatches, found: list[tuple[str, str]]) -> None:
    data = "".join(line + end for line, end in found).encode()[:-1]
    assert same(spark, batches, lines(data)).num_rows >= len(found)


@settings(max_examples=15)
@given(found=LINES, seed=st.randoms())
def test_many_lines(spark: SparkSession, batches: SourceBatches, found: list[tuple[str, str]], seed: Any) -> None:
    many = seed.choices(found, k=3000)
    data = "".join(f"{line} and so on{end}" for line, end in many).encode().rstrip(b"\r\n")
    assert same(spark, batches, lines(data)).num_rows == 3000


def test_long_lines_and_short_ones(spark: SparkSession, batches: SourceBatches) -> None:
    longest = (b"x" * 5_000_000 + b"\ny", b"x" * 3_000_000)
    for data in (*longest, b"y\n" + b"x" * 100_000, b"\n".join([b"x" * 50_000] * 20), b"x" * 20_000):
        same(spark, batches, lines(data))


def test_empty_lines_are_records(spark: SparkSession, batches: SourceBatches) -> None:
    for data in (b"\n" * 20_000, b"x" * 20_000 + b"\n", b"\n" + b"x" * 20_000, b"x\n" * 10_000 + b"\n\ny"):
        assert same(spark, batches, lines(data)).num_rows == data.count(b"\n") + 1
    for end in (b"\r", b"\n\r", b"\r\r", b"\r\n", b"\r\n\r\n", b"\n\r\n"):
        same(spark, batches, lines(b"x\r\n" * 10_000 + b"y" + end))


@pytest.mark.nightly
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_line_ends_anywhere_in_a_buffer(spark: SparkSession, batches: SourceBatches, end: bytes) -> None:
    for shift in range(len(end) + 1):
        data = b"x" * shift + end.join([b"y" * (number % 4) for number in range(500_000)]) + b"z"
        assert same(spark, batches, lines(data)).num_rows == 500_000


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_byte_order_marks_stay(spark: SparkSession, batches: SourceBatches, end: str) -> None:
    for mark in ("\ufeff", "\ufeff\ufeff", "\ufefflines "):
        data = end.join([mark, *["x\ufeff"] * 20_000, mark]).encode()
        assert same(spark, batches, lines(data)).num_rows == 20_002


def test_a_smaller_batch_after_a_larger_one(spark: SparkSession, batches: SourceBatches) -> None:
    for count in (90_000, 3_000, 40_000, 1_000):
        data = b"\n".join(b"line %d" % number for number in range(count))
        assert same(spark, batches, lines(data)).num_rows == count


NUMBER = st.none() | st.integers(-(2**31), 2**31 - 1)
HEADERS = st.lists(st.builds(Header, st.text(), st.text(), st.just(STRING_SCHEMA)), max_size=2)
RECORDS = st.lists(
    st.builds(
        SourceRecord,
        source_partition=st.just(PLACE),
        source_offset=st.just({"position": 1}),
        topic=st.sampled_from(["t", "u"]),
        value=st.fixed_dictionaries({"name": st.text(), "born": NUMBER}),
        value_schema=st.just(PERSON),
        key=st.none() | st.text(),
        key_schema=st.just(TEXT),
        partition=st.none() | st.integers(0, 3),
        timestamp=st.none() | st.integers(0, 2**41),
        headers=HEADERS.map(tuple),
    ),
    min_size=1,
    max_size=20,
)


@settings(max_examples=25)
@given(records=RECORDS)
def test_records(spark: SparkSession, batches: SourceBatches, records: list[SourceRecord]) -> None:
    (table,) = tables_of(records, SimpleHeaderConverter())
    assert same(spark, batches, table).num_rows == len(records)


@settings(max_examples=15)
@given(records=RECORDS, seed=st.randoms())
def test_many_records(spark: SparkSession, batches: SourceBatches, records: list[SourceRecord], seed: Any) -> None:
    (table,) = tables_of(seed.choices(records, k=1_200), SimpleHeaderConverter())
    assert same(spark, batches, table).num_rows == 1_200


def test_nulls_in_some_of_many_records(spark: SparkSession) -> None:
    """Also where Arrow has values below a null, as in an envelope without ``before``."""
    inner = pa.StructArray.from_arrays(
        [pa.array(["x"] * 900), pa.array([1] * 900, pa.int32())],
        fields=[*to_arrow_type(PERSON.to_spark())],
        mask=pa.array([number % 3 == 0 for number in range(900)]),
    )
    nullable, required = (SchemaField(name, replace(PERSON, optional=name == "before")) for name in ("before", "after"))
    schema = Schema(SchemaType.STRUCT, optional=True, fields=(nullable, required))
    values = pa.StructArray.from_arrays([inner, inner.filter(inner.is_valid()).take([0] * 900)], ["before", "after"])
    batch = SourceTable(pa.table({"value": values}), PLACE, {}, topic="t", value_schema=schema)
    for _ in range(2):
        made = same(spark, source_batches(spark), batch)
    assert made.column("value")[0].as_py().endswith(b'"payload":{"before":null,"after":{"name":"x","born":1}}}')


def test_a_plan_serves_all_batches_of_its_shape(batches: SourceBatches) -> None:
    def kept(batch: SourceBatch) -> object:
        planned = batches.planned(batch)
        assert isinstance(planned, PlannedBefore)
        return planned.kept

    text = b"line\n" * 10_000 + b"end"
    for count in (1, MANY):
        few, more = people(*[{"name": "a", "born": 1}] * count), people(*[{"name": "b", "born": None}] * (count + 1))
        assert kept(few) is kept(more)
    for one, other in ((b"a", "é\nc".encode()), (text, text * 2)):
        assert kept(lines(one)) is kept(lines(other))
        assert kept(lines(one)) is not kept(lines(one, "u"))


def configured(plugin: Transform | Predicate, **options: str) -> Any:
    plugin.configure(options)
    return plugin


def name_as_key(**stage: Any) -> TransformationStage:
    return TransformationStage("key", configured(ValueToKey(), fields="name"), **stage)


def of_tombstones() -> dict[str, Any]:
    return {"predicate": configured(RecordIsTombstone())}


def routed() -> TransformationStage:
    return TransformationStage("route", configured(RegexRouter(), regex="(.*)", replacement="new-$1"))


def routed_by_time() -> TransformationStage:
    options = {"topic.format": "${topic}-${timestamp}", "timestamp.format": "yyyy"}
    return TransformationStage("route", configured(TimestampRouter(), **options))


CHAINS: dict[str, Callable[[], list[TransformationStage]]] = {
    "key": lambda: [name_as_key()],
    "key and its field": lambda: [name_as_key(), TransformationStage("f", configured(ExtractFieldKey(), field="name"))],
    "topic": lambda: [routed()],
    "topic of each record": lambda: [routed_by_time()],
    "filter": lambda: [TransformationStage("drop", Filter(), **of_tombstones()), name_as_key()],
    "no topic": lambda: [
        name_as_key(predicate=configured(TopicNameMatches(), pattern="t"), negate=True),
    ],
}


@pytest.mark.parametrize("chain", CHAINS)
def test_records_behind_transforms(spark: SparkSession, chain: str) -> None:
    own = source_batches(spark, CHAINS[chain]())
    values = [{"name": "a", "born": 1}, None, {"name": "c", "born": None}]
    rows = {"value": pa.array(values, to_arrow_type(PERSON.to_spark())), "timestamp": pa.array([1, 2, 3], pa.int64())}
    optional = replace(PERSON, optional=True)
    batch = SourceTable(pa.table(rows), PLACE, {}, topic="t", value_schema=optional)
    if chain.startswith("key"):  # a null has no field
        batch = people(values[0], values[2])
    for _ in range(2):
        same(spark, own, batch)


@pytest.mark.parametrize("chain", CHAINS)
@pytest.mark.parametrize("bound", [EncodedBound(64 << 20), None])
def test_many_records_behind_transforms(spark: SparkSession, chain: str, bound: EncodedBound | None) -> None:
    own = source_batches(spark, CHAINS[chain](), bound=bound)
    for count in (2_000, 600, 3_000):
        values = [{"name": f"a{number}", "born": None if number % 7 else number} for number in range(count)]
        batch = people(*values)
        times = pa.array(range(count), pa.int64())
        same(spark, own, replace(batch, table=batch.table.append_column("timestamp", times)))
    own.close()


class Unknown(ValueToKey):
    deterministic = False


def test_where_records_may_depend_on_more_no_plan_is_kept(spark: SparkSession) -> None:
    rows = people({"name": "a", "born": 1})
    split = name_as_key(**of_tombstones())  # only some of the records get keys
    for stage in (TransformationStage("key", configured(Unknown(), fields="name")), split):
        transformed = source_batches(spark, [stage])
        planned = transformed.planned(rows)
        assert not isinstance(planned, PlannedBefore)
        assert {"key", "value"} <= {*transformed.encoded(planned).table.column_names}


TEXT_CHAINS: dict[str, Callable[[], list[TransformationStage]]] = {
    "topic": lambda: [routed()],
    "fields": lambda: [
        TransformationStage("hoist", configured(HoistFieldValue(), field="line")),
        TransformationStage("host", configured(InsertFieldValue(), **{"static.field": "host", "static.value": "a"})),
        TransformationStage("key", configured(ValueToKey(), fields="line")),
    ],
}


@pytest.mark.parametrize("chain", TEXT_CHAINS)
@pytest.mark.parametrize("bound", [EncodedBound(64 << 20), None])
def test_text_behind_transforms(spark: SparkSession, chain: str, bound: EncodedBound | None) -> None:
    own = source_batches(spark, TEXT_CHAINS[chain](), bound=bound)
    for count in (2, 10_000, 20_000):
        assert same(spark, own, lines(b"line\n" * count + b"end")).num_rows == count + 1
    own.close()


def test_all_text_that_was_read_counts_as_polled(spark: SparkSession) -> None:
    own = source_batches(spark, [TransformationStage("drop", Filter())])
    encoded = by_kept_plan(own, lines(b"line\r\n" * 5_000 + b"a\rb\n\nc"))
    assert (encoded.polled, encoded.table.num_rows) == (5_004, 0)
    own.close()


@pytest.mark.parametrize("tolerate", [True, False])
def test_a_record_that_fails(spark: SparkSession, tolerate: bool) -> None:
    batch = people({"name": "a", "born": 1}, None, {"name": "c", "born": None})
    encoded = by_kept_plan(source_batches(spark, policy=ErrorPolicy(tolerate=tolerate)), batch)
    (failed,) = encoded.failed
    assert failed.failure.message == "Conversion error: null value for field that is required and has no default value"
    assert (encoded.table.num_rows, encoded.polled) == (2, 3)


@pytest.mark.parametrize("tolerate", [True, False])
def test_one_of_many_records_fails(spark: SparkSession, tolerate: bool) -> None:
    values = [{"name": "a", "born": number} for number in range(MANY)]
    batch = people(*values[:500], None, *values[500:])
    encoded = by_kept_plan(source_batches(spark, policy=ErrorPolicy(tolerate=tolerate)), batch)
    (failed,) = encoded.failed
    assert failed.failure.message == "Conversion error: null value for field that is required and has no default value"
    assert (encoded.table.num_rows, encoded.polled) == (MANY, MANY + 1)


def test_many_records_that_are_too_large_go_through_the_disk(spark: SparkSession) -> None:
    own = source_batches(spark, bound=EncodedBound(3_000_000))
    small, large = (people(*[{"name": "x" * size, "born": 1}] * MANY) for size in (1, 1_000))
    assert by_kept_plan(own, small).table.num_rows == MANY
    assert by_kept_plan(own, large).table.num_rows == MANY
    assert not isinstance(own.planned(small), PlannedBefore)
    assert own.encoded(own.planned(small)).table.num_rows == MANY
    assert isinstance(own.planned(small), PlannedBefore)
    own.close()


def test_memory_that_is_full(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scratch._Process, "memory", tmp_path)
    own = source_batches(spark)
    data = b"line\n" * 10_000 + b"end"
    same(spark, own, lines(data))
    same(spark, own, MANY_PEOPLE)
    for folder in tmp_path.iterdir():
        shutil.rmtree(folder)
    assert by_kept_plan(own, lines(data)).table.num_rows == 10_001
    assert by_kept_plan(own, MANY_PEOPLE).table.num_rows == MANY
    own.close()


def test_a_spark_with_other_parts(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scratch._Process, "memory", tmp_path)
    others = []
    for module in (text_slot, table_slot):
        others.append(tmp_path / module._READERS.name)
        others[-1].write_text(module._READERS.read_text().replace("PartitionReaderFactory", "NoSuchFactory"))
        monkeypatch.setattr(module, "_READERS", others[-1])
    own = source_batches(spark)
    for batch, count in ((lines(b"line\n" * 10_000 + b"end"), 10_001), (MANY_PEOPLE, MANY)):
        planned = own.planned(batch)
        assert not isinstance(planned, PlannedBefore)
        assert own.encoded(planned).table.num_rows == count
    assert sorted(tmp_path.iterdir()) == sorted(others)


def test_nothing_is_left_in_memory(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scratch._Process, "memory", tmp_path)
    own = source_batches(spark)
    for count, held in ((10_000, 50_004), (5_000, 0), (9_990, 49_954)):
        same(spark, own, lines(b"line\n" * count + b"end"))
        assert sum(file.stat().st_size for file in tmp_path.glob("*/*.txt")) == held
    for count, holds in ((12_000, True), (12_000, True), (10_500, False), (11_000, True)):
        same(spark, own, replace(MANY_PEOPLE, table=MANY_PEOPLE.table.slice(0, count)))
        assert any(file.stat().st_size for file in tmp_path.glob("*/*.arrow")) is holds
    own.close()
    assert [*tmp_path.iterdir()] == []


@pytest.fixture
def slot(spark: SparkSession) -> Iterator[TextSlot]:
    made = TextSlot(spark, has_returns=False)
    yield made
    made.close()


def query(slot: TextSlot, *lines: str, schema: Schema = STRING_SCHEMA, df: DataFrame | None = None) -> SourceQuery:
    """Return a query over lines; those that are ``null`` have no value."""
    data = "\n".join(lines).encode()
    rows = slot.df.sparkSession.createDataFrame([(line,) for line in lines], slot.df.schema)

    def value(df: DataFrame) -> DataFrame:
        return df.selectExpr("nullif(value, 'null') AS value")

    kept = value(slot.df) if df is None else df
    return SourceQuery(kept, lambda: slot.write([data]), lambda: value(rows), PLACE, {}, topic="t", value_schema=schema)


@pytest.mark.parametrize("chain", ["none", *TEXT_CHAINS])
@pytest.mark.parametrize("bound", [EncodedBound(64 << 20), None])
def test_queries(spark: SparkSession, slot: TextSlot, chain: str, bound: EncodedBound | None) -> None:
    own = source_batches(spark, TEXT_CHAINS[chain]() if chain in TEXT_CHAINS else (), bound=bound)
    first = query(slot, "a", "b")
    second = query(slot, "é", *["c"] * 5_000, df=first.df)
    for batch in (first, second, first):
        same(spark, own, batch)
    one, other = own.planned(first), own.planned(second)
    assert isinstance(one, PlannedBefore)
    assert isinstance(other, PlannedBefore)
    assert one.kept is other.kept


def test_all_rows_of_a_query_count_as_polled(spark: SparkSession, slot: TextSlot) -> None:
    own = source_batches(spark, [TransformationStage("drop", Filter(), **of_tombstones())])
    batch = query(slot, "a", "null", "b", schema=TEXT)
    for _ in range(2):
        encoded = by_kept_plan(own, batch)
        assert (encoded.polled, encoded.table.num_rows) == (3, 2)


@pytest.mark.parametrize("tolerate", [True, False])
def test_a_row_of_a_query_that_fails(spark: SparkSession, slot: TextSlot, tolerate: bool) -> None:
    own = source_batches(spark, policy=ErrorPolicy(tolerate=tolerate))
    encoded = by_kept_plan(own, query(slot, "a", "null", "b"))
    (failed,) = encoded.failed
    assert failed.failure.message == "Conversion error: null value for field that is required and has no default value"
    assert (encoded.table.num_rows, encoded.polled) == (2, 3)


def test_a_query_that_is_too_large_goes_through_the_disk(spark: SparkSession, slot: TextSlot) -> None:
    own = source_batches(spark, bound=EncodedBound(100_000))
    small = query(slot, "a")
    large = query(slot, *["x" * 1_000] * 200, df=small.df)
    assert by_kept_plan(own, small).table.num_rows == 1
    assert by_kept_plan(own, large).table.num_rows == 200
    assert not isinstance(own.planned(large), PlannedBefore)
    assert own.encoded(own.planned(small)).table.num_rows == 1
    assert isinstance(own.planned(small), PlannedBefore)


def test_executors_that_send_records_plan_each_query(spark: SparkSession, slot: TextSlot) -> None:
    pipeline = SourcePipeline((), converter(), converter(), SimpleHeaderConverter())
    own = SourceBatches(spark, pipeline, ErrorPolicy(), None, Mock())
    planned = own.planned(query(slot, "a", "b"))
    assert own.remote(planned) is not None


@given(found=LINES, size=st.integers(1, 40))
def test_pieces_are_whole_lines(found: list[tuple[str, str]], size: int) -> None:
    data = "".join(line + end for line, end in found).encode()
    parts = pieces(data, size)
    assert all(len(part) >= size - 1 for part in parts[:-1])
    assert b"\n".join(parts) == data or b"\r\n" in data
    assert len(parts) <= -(-len(data) // size) or not data


def test_a_converter_without_its_registry_fails_the_task_at_once(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []

    def unreachable(*arguments: object, **words: object) -> tuple[bytes, Column]:
        asked.append(arguments)
        raise ConnectionRefusedError("no registry")

    monkeypatch.setattr(JsonConverter, "encode_with_prefix", unreachable)
    with pytest.raises(ConnectionRefusedError):
        source_batches(spark).planned(people({"name": "a", "born": 1}))
    assert len(asked) == 1


def test_tasks_with_equal_converters_share_the_plans_of_rows(spark: SparkSession) -> None:
    tasks = [
        SourceBatches(
            spark,
            SourcePipeline((), converter(), converter(), SimpleHeaderConverter(), alike=alike),
            ErrorPolicy(),
        )
        for alike in ("a", "a", "b", None)
    ]
    planned = [task.planned(lines(b"x\ny", topic)) for task, topic in zip(tasks, "tuvw", strict=True)]
    assert all(isinstance(one, PlannedBefore) for one in planned)
    runs = [one.kept.run for one in planned if isinstance(one, PlannedBefore)]
    assert runs[0] is runs[1]
    assert len({id(run) for run in runs}) == 3
    assert [one.topic for one in planned] == [*"tuvw"]
    tables = [task.encoded(one).table for task, one in zip(tasks, planned, strict=True)]
    assert tables[0].num_rows == 2
    assert all(table.equals(tables[0]) for table in tables)


def test_a_default_that_is_a_list_or_a_dict_is_no_obstacle_to_sharing(spark: SparkSession) -> None:
    """At 93a380f the task failed: unhashable type."""
    names = Schema(SchemaType.ARRAY, value_schema=STRING_SCHEMA, default=["x"])
    schema = Schema(SchemaType.STRUCT, fields=(SchemaField("names", names),), default={"names": []})
    rows = pa.table({"value": pa.array([{"names": ["a"]}], to_arrow_type(schema.to_spark()))})
    pipeline = SourcePipeline((), converter(), converter(), SimpleHeaderConverter(), alike="a")
    batches = SourceBatches(spark, pipeline, ErrorPolicy())
    batch = SourceTable(rows, PLACE, {}, topic="t", value_schema=schema)
    assert b'"names":["a"]' in by_kept_plan(batches, batch).table.column("value")[0].as_py()


def test_a_source_of_many_topics_keeps_a_plan_for_each(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_plans, "_MOST_PLANS", 6)
    monkeypatch.setattr(kept_plans, "_FEW_PLANS", 2)
    monkeypatch.setattr(kept_plans, "_tasks", set())
    one, other = source_batches(spark), source_batches(spark)

    def kept(batches: SourceBatches, topic: str) -> object:
        planned = batches.planned(lines(b"x", topic))
        assert isinstance(planned, PlannedBefore)
        return planned.kept

    plans = [kept(one, topic) for topic in "abcdef"]
    assert [kept(one, topic) for topic in "abcdef"] == plans
    assert kept(one, "a") is plans[0]
    kept(one, "g")  # the plan that was not used for longest goes
    assert kept(one, "a") is plans[0]
    assert kept(one, "b") is not plans[1]
    few = [kept(other, topic) for topic in "ab"]
    assert [kept(other, topic) for topic in "ab"] == few
    one.close()
    assert [kept(other, topic) for topic in "abcdef"][:2] == few
    assert kept(other, "a") is few[0]


def test_lists_join_where_they_have_one_plan(batches: SourceBatches) -> None:
    def submitted(*records: SourceRecord) -> SubmittedBatch:
        (batch,) = batches.polled(records)
        return SubmittedBatch(batch, batches.planned(batch))

    def record(number: int, **more: Any) -> SourceRecord:
        return SourceRecord(PLACE, {"n": number}, "t", number, **more)

    first = submitted(record(1), record(2))
    assert first.absorb(submitted(record(3)))
    assert not first.absorb(submitted(record(4, key="k"))), "it has another column"
    assert not first.absorb(submitted(*map(record, range(5_000)))), "both are large"
    table = people(None)
    assert not first.absorb(SubmittedBatch(table, batches.planned(table))), "its task waits for it"
    first.join()
    assert batches.encoded(first.planned).table.column("value").to_pylist() == [
        b'{"schema":null,"payload":%d}' % number for number in (1, 2, 3)
    ]
    assert first.batch.offsets == ((PLACE, {"n": 3}),)

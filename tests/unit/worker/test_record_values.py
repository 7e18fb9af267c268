"""Values of single records against their schemas, and the frames made of them."""

import json
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connect_dagster.converters.plain.simple_header_converter import SimpleHeaderConverter
from connect_dagster.errors import DataError
from connect_dagster.plugin.records import RecordMetadata, SourceRecord
from connect_dagster.plugin.schema import DATE, DECIMAL, STRING_SCHEMA, TIME, TIMESTAMP, Schema, SchemaField, SchemaType
from connect_dagster.worker import record_values
from connect_dagster.worker.record_frames import ListedRecords, batches_of, joined, tables_of
from connect_dagster.worker.record_values import arrow_array, column_of, fitting

INT = Schema(SchemaType.INT32)
LOGICAL = {
    DECIMAL: Schema(SchemaType.BYTES, name=DECIMAL, parameters=(("scale", "2"),)),
    DATE: Schema(SchemaType.INT32, name=DATE),
    TIME: Schema(SchemaType.INT32, name=TIME),
    TIMESTAMP: Schema(SchemaType.INT64, name=TIMESTAMP),
}
STRUCT = Schema(
    SchemaType.STRUCT,
    fields=(
        SchemaField("id", INT),
        SchemaField("note", Schema(SchemaType.STRING, optional=True)),
        SchemaField("kind", Schema(SchemaType.STRING, default="plain")),
    ),
)


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (Schema(SchemaType.INT8), -128),
        (Schema(SchemaType.INT64), 2**63 - 1),
        (Schema(SchemaType.FLOAT64), 1),
        (Schema(SchemaType.BOOLEAN), False),
        (STRING_SCHEMA, ""),
        (Schema(SchemaType.BYTES), b"\xff"),
        (Schema(SchemaType.STRING, optional=True), None),
        (LOGICAL[DECIMAL], Decimal("1.50")),
        (LOGICAL[DATE], date(2026, 1, 1)),
        (LOGICAL[TIME], 86_399_999),
        (LOGICAL[TIMESTAMP], datetime(2026, 1, 1, tzinfo=UTC)),
        (Schema(SchemaType.ARRAY, value_schema=INT), [1, 2]),
    ],
)
def test_what_fits_stays(schema: Schema, value: Any) -> None:
    assert fitting(value, schema) == value


@pytest.mark.parametrize(
    ("schema", "value", "text"),
    [
        (Schema(SchemaType.INT8), 128, "Invalid Python object for schema type INT8: int: 128"),
        (INT, 1.5, "Invalid Python object for schema type INT32: float: 1.5"),
        (INT, True, "Invalid Python object for schema type INT32: bool: True"),
        (STRING_SCHEMA, b"x", "Invalid Python object for schema type STRING: bytes: b'x'"),
        (Schema(SchemaType.BYTES), "x", "Invalid Python object for schema type BYTES: str: 'x'"),
        (STRING_SCHEMA, None, "Invalid value: null used for required schema"),
        (
            LOGICAL[TIMESTAMP],
            5,
            "Invalid Python object for schema type INT64 (org.apache.kafka.connect.data.Timestamp): int: 5",
        ),
        (
            LOGICAL[DECIMAL],
            1.5,
            "Invalid Python object for schema type BYTES (org.apache.kafka.connect.data.Decimal): float: 1.5",
        ),
        (STRUCT, {"id": 1, "nmae": "x"}, "nmae is not a valid field name; the schema has id, note, kind"),
        (STRUCT, {}, 'Invalid value: null used for required field: "id", schema type: INT32'),
        (STRUCT, {"id": "1"}, "Invalid Python object for schema type INT32: str for field: \"id\": '1'"),
        (STRUCT, "text", "Invalid Python object for schema type STRUCT: str: 'text'"),
        (
            Schema(SchemaType.ARRAY, value_schema=INT),
            [1, "2"],
            "Invalid Python object for schema type INT32: str: '2'",
        ),
    ],
)
def test_what_does_not_fit(schema: Schema, value: Any, text: str) -> None:
    with pytest.raises(DataError) as raised:
        fitting(value, schema)
    assert str(raised.value) == text


def test_defaults_stand_in_for_what_is_missing() -> None:
    assert fitting({"id": 1}, STRUCT) == {"id": 1, "note": None, "kind": "plain"}


def test_maps_keep_their_order() -> None:
    schema = Schema(SchemaType.MAP, key_schema=STRING_SCHEMA, value_schema=STRUCT)
    assert fitting({"b": {"id": 2}, "a": {"id": 1}}, schema) == [
        ("b", {"id": 2, "note": None, "kind": "plain"}),
        ("a", {"id": 1, "note": None, "kind": "plain"}),
    ]


def test_usual_values_are_not_looked_at_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    whole: dict[str, Any] = {
        "small": 1,
        "number": None,
        "kind": "a",
        "data": b"",
        "at": datetime(2026, 1, 1, tzinfo=UTC),
        "price": Decimal("1.50"),
        "tags": {"a": None},
        "place": {"zip": 1},
        "notes": [],
    }
    monkeypatch.setattr(record_values, "fitting", None)
    assert column_of([whole, None], TREE).to_pylist() == [{**whole, "tags": [("a", None)]}, None]


TEXT = Schema(SchemaType.STRING, optional=True)
TREE = Schema(
    SchemaType.STRUCT,
    optional=True,
    fields=(
        SchemaField("small", Schema(SchemaType.INT8)),
        SchemaField("number", Schema(SchemaType.FLOAT64, optional=True)),
        SchemaField("kind", Schema(SchemaType.STRING, default="plain")),
        SchemaField("data", Schema(SchemaType.BYTES, optional=True)),
        SchemaField("at", LOGICAL[TIMESTAMP].with_default(datetime(2026, 1, 1, tzinfo=UTC))),
        SchemaField("price", LOGICAL[DECIMAL]),
        SchemaField("tags", Schema(SchemaType.MAP, key_schema=STRING_SCHEMA, value_schema=TEXT)),
        SchemaField("place", Schema(SchemaType.STRUCT, optional=True, fields=(SchemaField("zip", INT),))),
        SchemaField("notes", Schema(SchemaType.ARRAY, optional=True, value_schema=TEXT)),
    ),
)
USUAL = {
    "small": st.integers(-128, 127),
    "price": st.decimals(-1000, 1000, places=2),
    "tags": st.dictionaries(st.text(max_size=2), st.none() | st.text(max_size=2), max_size=2),
}
OTHERS = {
    "number": st.none() | st.floats(allow_nan=False) | st.integers(-9, 9),
    "kind": st.none() | st.text(max_size=2),
    "data": st.none() | st.binary(max_size=2),
    "at": st.datetimes(datetime(1970, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC)),
    "place": st.none() | st.fixed_dictionaries({"zip": st.integers(0, 9)}),
    "notes": st.none() | st.lists(st.none() | st.text(max_size=2), max_size=2),
}
ODD = {
    "small": st.integers(-130, 130) | st.booleans(),
    "price": st.none() | st.floats(0, 1) | st.decimals(0, 1, places=3),
    "tags": st.none() | st.dictionaries(st.integers(0, 9), st.text(max_size=1), max_size=1),
    "place": st.fixed_dictionaries({"zap": st.integers(0, 9)}),
    "nmae": st.none(),
}


@settings(max_examples=200)
@given(
    values=st.lists(st.none() | st.fixed_dictionaries(USUAL, optional=OTHERS)),
    odd=st.fixed_dictionaries({}, optional=ODD),
)
def test_values_make_the_same_column_whether_they_are_looked_at_one_by_one(
    values: list[dict[str, Any] | None], odd: dict[str, Any]
) -> None:
    if values and values[-1] is not None:
        values[-1] |= odd

    def outcome(make: Callable[[], pa.Array]) -> tuple[pa.DataType, list[Any]] | str:
        try:
            column = make()
        except DataError as error:
            return str(error)
        column.validate(full=True)
        return column.type, column.to_pylist()

    found = outcome(lambda: column_of(values, TREE))
    type = column_of([], TREE).type
    assert found == outcome(lambda: arrow_array([fitting(value, TREE) for value in values], type))


def values_of(*values: Any) -> list[Any]:
    """Return the values of records without schema as they stand in a table."""
    records = [SourceRecord({}, {}, "t", value) for value in values]
    (table,) = tables_of(records, SimpleHeaderConverter())
    found: list[Any] = table.table.column("value").to_pylist()
    return found


def test_a_value_without_schema_is_json() -> None:
    values: list[Any] = [
        "세",
        {"a": [1, None, True], "é\n": -1e300},
        None,
        1.5,
        '"\\\x00',
        (1, (2,)),
        {1: {}},
        10**30,
        [],
        "",
    ]
    texts = [json.dumps(value, ensure_ascii=False, separators=(",", ":")) for value in values]
    assert values_of(*values) == [None if value is None else text for value, text in zip(values, texts, strict=True)]
    assert values_of(None) == [None]


CIRCULAR: list[Any] = []
CIRCULAR.append(CIRCULAR)


@pytest.mark.parametrize("value", [b"x", float("nan"), {"a": datetime(2026, 1, 1, tzinfo=UTC)}, CIRCULAR])
def test_a_value_without_schema_that_json_does_not_know(value: Any) -> None:
    with pytest.raises(DataError, match="A value without schema must be what JSON knows"):
        values_of(value)


def test_each_partition_has_the_offset_of_its_last_record() -> None:
    records = [SourceRecord({"file": file}, {"n": n}, "t", n) for n, file in enumerate("aabab")]
    (table,) = tables_of(records, SimpleHeaderConverter())
    assert table.offsets == (({"file": "a"}, {"n": 3}), ({"file": "b"}, {"n": 4}))


def test_kept_records_get_their_places() -> None:
    records = [SourceRecord({}, {}, "t", n) for n in range(3)]
    (table,) = batches_of(records, SimpleHeaderConverter(), keep_records=True)
    assert isinstance(table, ListedRecords)
    assert table.table.column("receipt").to_pylist() == [0, 1, 2]
    places = {"topic": ["t", "u"], "partition": [1, 2], "offset": [5, 6], "timestamp": [None, 70], "size": [1, 1]}
    first, left_out, last = table.with_metadata([pa.table({"receipt": [0, 2], **places})])
    assert first == (records[0], RecordMetadata("t", 1, 5))
    assert left_out == (records[1], None)
    assert last == (records[2], RecordMetadata("u", 2, 6, 70))
    assert [record for record, _ in (first, left_out, last)] == records


@pytest.mark.parametrize("needs_topic", [True, False])
@pytest.mark.parametrize("topics", ["aa", "ab"])
def test_a_list_of_one_topic_has_no_column_for_converters_that_encode_by_topic(topics: str, needs_topic: bool) -> None:
    records = [SourceRecord({}, {}, topic, 1) for topic in topics]
    (table,) = tables_of(records, SimpleHeaderConverter(), needs_topic=needs_topic)
    is_column = topics == "ab" or not needs_topic
    assert table.topic == (None if is_column else "a")
    assert ("topic" in table.table.column_names) is is_column


@pytest.mark.parametrize("keep_records", [True, False])
def test_lists_that_join_are_as_one_list(keep_records: bool) -> None:
    records = [SourceRecord({"file": file}, {"n": n}, "t", {"id": n}, STRUCT, str(n)) for n, file in enumerate("aabab")]

    def table(*run: SourceRecord) -> ListedRecords:
        (made,) = tables_of(run, SimpleHeaderConverter(), keep_records=keep_records)
        return made

    whole, found = table(*records), joined([table(*records[:1]), table(*records[1:4]), table(*records[4:])])
    assert found.table.equals(whole.table)
    assert found.table.schema == whole.table.schema
    assert found.offsets == whole.offsets
    assert [*found.records] == (records if keep_records else [])
    assert joined([table(SourceRecord({}, {}, "t", 1)), table(SourceRecord({}, {}, "t", 2))]).offsets == ()

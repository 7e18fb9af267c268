"""Test the nullability and the ASCII flag that a large ``SourceTable`` gets before it is planned. No Spark."""

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from connect_dagster.plugin.frames import SourceTable
from connect_dagster.plugin.schema import STRING_SCHEMA, Schema, SchemaField, SchemaType
from connect_dagster.worker.source.table_facts import with_facts

NUMBER, OPTIONAL = Schema(SchemaType.INT32), Schema(SchemaType.STRING, optional=True)
ROW = Schema(SchemaType.STRUCT, fields=(SchemaField("id", NUMBER), SchemaField("note", OPTIONAL)))
ENVELOPE = Schema(
    SchemaType.STRUCT,
    fields=(SchemaField("before", replace(ROW, optional=True)), SchemaField("after", ROW), SchemaField("op", NUMBER)),
)
ROW_TYPE = pa.struct({"id": pa.int32(), "note": pa.string()})
TYPE = pa.struct({"before": ROW_TYPE, "after": ROW_TYPE, "op": pa.int32()})


def envelope(**changed: Any) -> dict[str, Any]:
    return {"before": None, "after": {"id": 1, "note": "a"}, "op": 2, **changed}


def table(*values: Any, kind: pa.DataType = TYPE, schema: Schema | None = ENVELOPE) -> SourceTable:
    return SourceTable(pa.table({"value": pa.array(values, kind)}), {}, None, topic="t", value_schema=schema)


def required(batch: SourceTable) -> set[str]:
    """Return the paths of the fields that cannot be null."""

    def paths(field: pa.Field, path: str) -> set[str]:
        below = field.type if pa.types.is_struct(field.type) else ()
        own = set[str]() if field.nullable else {path}
        return own.union(*(paths(part, f"{path}.{part.name}") for part in below))

    return set[str]().union(*(paths(field, field.name) for field in batch.table.schema))


def test_required_fields_without_nulls_cannot_be_null() -> None:
    made = with_facts(table(envelope(), envelope(before={"id": 1, "note": "b"})))
    assert required(made) == {"value", "value.after", "value.after.id", "value.op"}
    made = with_facts(table(envelope(), envelope(after={"id": None, "note": "a"})))
    assert required(made) == {"value", "value.after", "value.op"}
    assert "value" not in required(with_facts(table(envelope(), None)))


def test_the_records_stay_as_they_are() -> None:
    values = [envelope(), None, envelope(before={"id": 3, "note": None}), envelope(after=None), envelope(op=None)]
    batch = table(*values * 3)
    for cut in (batch.table, batch.table.slice(4, 7), pa.concat_tables([batch.table, batch.table.slice(1)])):
        made = with_facts(replace(batch, table=cut))
        made.table.validate(full=True)
        assert made.table.to_pylist() == cut.to_pylist()
        assert (made.topic, made.value_schema) == (batch.topic, batch.value_schema)


def test_batches_that_differ_in_optional_fields_have_equal_columns() -> None:
    whole = {"id": 1, "note": "a"}
    batches = [table(envelope()), table(envelope(before=whole)), table(envelope(), envelope(before=whole))]
    batches.append(table(envelope(after={"id": 1, "note": None})))
    first, *others = (with_facts(batch).table.schema for batch in batches)
    assert all(schema == first for schema in others)


TEXTS = pa.list_(pa.string())


@pytest.mark.parametrize(
    ("values", "kind", "of_ascii"),
    [
        (["a", None], pa.string(), True),
        (["a", "é"], pa.string(), False),
        ([{"a": "x"}, {"a": None}], pa.struct({"a": pa.string()}), True),
        ([{"a": "x"}, {"a": "\U0001f600"}], pa.struct({"a": pa.string()}), False),
        ([["a"], [None, "b"], None], TEXTS, True),
        ([["a"], [None, "é"], None], TEXTS, False),
        ([[("a", 1)]], pa.map_(pa.string(), pa.int32()), True),
        ([[("é", 1)]], pa.map_(pa.string(), pa.int32()), False),
        ([1, 2], pa.int64(), True),
        (["é".encode()], pa.binary(), True),
        ([None], pa.null(), True),
        (["a"], pa.dictionary(pa.int8(), pa.string()), False),
    ],
)
def test_text_beyond_ascii_is_found(values: list[Any], kind: pa.DataType, of_ascii: bool) -> None:
    batch = table(*values, kind=kind, schema=None)
    assert with_facts(batch).ascii is of_ascii
    empty = replace(batch, table=batch.table.slice(len(values)))
    assert with_facts(replace(empty, ascii=True)).ascii


def test_keys_and_names_count_as_text() -> None:
    values = pa.table({"key": ["é", "b"], "value": ["a", "b"]})
    batch = SourceTable(values, {}, None, key_schema=STRING_SCHEMA)
    assert not with_facts(batch).ascii
    assert with_facts(replace(batch, table=values.slice(1))).ascii
    named = replace(ROW, fields=(SchemaField("é", NUMBER),))
    assert not with_facts(table({"é": 1}, kind=pa.struct({"é": pa.int32()}), schema=named)).ascii
    assert not with_facts(table("a", kind=pa.string(), schema=replace(OPTIONAL, default="é"))).ascii

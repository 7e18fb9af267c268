"""Schemas of JSON payloads, and shapes by which Spark finds texts of one schema."""

import re

import pytest

from connect_dagster.plugin.schema import Schema, SchemaType
from connect_dagster.transforms.debezium.json_payloads import ESCAPES, SHAPES, Expansion, expanded
from tests.unit.transforms.debezium.change_events import names


def shape_of(text: str) -> str:
    """Return the shape as Spark makes it; these patterns mean the same in Python."""
    for escape, character in ESCAPES:
        text = text.replace(escape, character)
    for pattern, replacement in SHAPES:
        text = re.sub(pattern, replacement.replace("$1", r"\1"), text)
    return text


def schema_of(text: str, expansion: Expansion | None = None) -> Schema:
    schema = expanded("payload", text, expansion)
    assert schema is not None
    return schema


def test_types_of_values() -> None:
    text = (
        '{"i": 2147483647, "least": -2147483648, "l": 2147483648, "f": 1.0, "e": 1e3, "huge": 9223372036854775808,'
        ' "s": "x", "b": true, "n": null, "o": {"a": {"b": 1}}, "none": {}}'
    )
    schema = schema_of(text)
    assert (schema.name, schema.optional) == ("payload", True)
    assert names(schema) == [
        "i int32?",
        "least int32?",
        "l int64?",
        "f double?",
        "e double?",
        "huge double?",
        "s string?",
        "b boolean?",
        "o struct?",
        "none struct?",
    ]
    outer = schema.fields[8].schema
    assert (outer.name, outer.fields[0].schema.name) == ("payload.o", "payload.o.a")


def test_a_null_has_a_field_of_bytes_where_that_is_set() -> None:
    assert names(schema_of('{"n": null, "a": [null]}', Expansion(nulls="optional_bytes"))) == ["n bytes?", "a array?"]
    assert names(schema_of('{"n": null, "a": []}')) == []


def test_names_of_fields_are_adjusted_and_unique() -> None:
    assert names(schema_of('{"a.b": 1, "a_b": "x", "c": 1}', Expansion(names="avro"))) == ["a_b int32?", "c int32?"]


def test_arrays() -> None:
    numbers, nested, objects = (
        field.schema for field in schema_of('{"n": [1, null, 2], "m": [[1.5]], "o": [{"a": 1}, {"a": 2}]}').fields
    )
    assert numbers.item == Schema(SchemaType.INT32, optional=True)
    assert nested.item.item == Schema(SchemaType.FLOAT64, optional=True)
    assert (objects.item.name, objects.item.optional, names(objects.item)) == ("payload.o", True, ["a int32?"])


def test_objects_in_an_array_have_the_fields_of_all() -> None:
    (items,) = (field.schema.item for field in schema_of('{"o": [{"a": 1}, null, {"b": "x", "a": 2}]}').fields)
    assert (items.optional, names(items)) == (False, ["a int32?", "b string?"])
    text = '{"o": [{"a": null}, {"a": 2}]}'
    (items,) = (field.schema.item for field in schema_of(text, Expansion(nulls="optional_bytes")).fields)
    assert names(items) == ["a int32?"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "text",
        '"text"',
        "12",
        "[1, 2]",
        '{"a": 1',
        "{'a': 1}",
        '{"a": [1, "x"]}',
        '{"a": [1, 2147483648]}',
        '{"a": [1, 1.5]}',
        '{"a": [null]}',
        '{"a": [[]]}',
        '{"a": [{"b": 1}, 2]}',
    ],
)
def test_what_stays_text(text: str) -> None:
    assert expanded("payload", text) is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('{"a": 1, "b": "x"}', '{"a": -2147483648, "b": "yy, \\"z\\": 5 \\\\"}'),
        ('{"a": 2147483648}', '{"a": -999999999999999999}'),
        ('{"a": 1.5}', '{"a": -1E+10}'),
        ('{"a": [1, 2, 3]}', '{"a": [7]}'),
        ('{"a": ["x", "y"]}', '{"a": ["z"]}'),
        ('{"a": [true,true]}', '{"a": [true]}'),
        ('{"a": ""}', '{"a": "{\\"b\\": [1]}"}'),
    ],
)
def test_texts_of_one_schema_have_one_shape(one: str, other: str) -> None:
    assert shape_of(one) == shape_of(other)
    assert expanded("payload", one) == expanded("payload", other)


TEXTS = [
    "{}",
    '{"a": 1}',
    '{"a": 2147483647}',
    '{"a": 2147483648}',
    '{"a": 12345678901}',
    '{"a": 1.5}',
    '{"a": "1"}',
    '{"a": null}',
    '{"a": true}',
    '{"b": 1}',
    '{"a1": 1}',
    '{"a2": 1}',
    '{"a\\"": 1}',
    '{"a\\\\": 1}',
    '{"": 1}',
    '{"a": 1, "b": 2}',
    '{"b": 1, "a": 2}',
    '{"a": {"b": 1}}',
    '{"a": [1]}',
    '{"a": [1, "x"]}',
    '{"a": ["x", 1]}',
    '{"a": ["x"]}',
    '{"a": [1, 2147483648]}',
    '{"a": [{"b": 1}]}',
    '{"a": [{"b": 1}, {"c": 1}]}',
    '{"a": [[1], [1]]}',
    '{"a": []}',
    "[1]",
    '"x"',
    "x",
]


def test_texts_of_one_shape_have_one_schema() -> None:
    by_shape: dict[str, set[Schema | None]] = {}
    for text in TEXTS:
        by_shape.setdefault(shape_of(text), set()).add(expanded("payload", text))
    assert {shape: schemas for shape, schemas in by_shape.items() if len(schemas) > 1} == {}

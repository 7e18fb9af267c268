import json
from typing import Any

import pytest

from connect_dagster.converters.json.envelope import from_json, schema_text
from connect_dagster.errors import DataError
from connect_dagster.plugin.schema import STRING_SCHEMA, Schema, SchemaType

TEXTS = [
    '{"type":"string","optional":false}',
    '{"type":"int32","optional":true,"name":"n","version":2,"doc":"d","parameters":{"a":"1"},"default":5}',
    '{"type":"array","items":{"type":"bytes","optional":false},"optional":false,"default":["AA=="]}',
    '{"type":"map","keys":{"type":"string","optional":false},"values":{"type":"float","optional":true},"optional":true}',
    '{"type":"struct","fields":[{"type":"int8","optional":false,"field":"a"}],"optional":false,"default":{"a":1}}',
    '{"type":"bytes","optional":false,"name":"org.apache.kafka.connect.data.Decimal","version":1,'
    '"parameters":{"scale":"2"},"default":"hQ=="}',
    '{"type":"int32","optional":false,"name":"org.apache.kafka.connect.data.Date","version":1,"default":-1}',
    '{"type":"int64","optional":false,"name":"org.apache.kafka.connect.data.Timestamp","version":1,"default":1500}',
    '{"type":"map","keys":{"type":"int32","optional":false},"values":{"type":"string","optional":false},'
    '"optional":false,"default":[[1,"x"]]}',
]


@pytest.mark.parametrize("text", TEXTS)
def test_a_schema_reads_and_writes_the_same_text(text: str) -> None:
    assert schema_text(from_json(json.loads(text))) == text


def test_no_schema_is_null() -> None:
    assert schema_text(None) == "null"
    assert from_json(None) is None


def test_s1_02_the_schema_of_a_line() -> None:
    assert schema_text(STRING_SCHEMA) == '{"type":"string","optional":false}'


def test_decimal_defaults_as_numbers() -> None:
    schema = from_json(json.loads(TEXTS[5]))
    assert schema_text(schema, numeric_decimals=True).endswith('"default":-1.23}')


@pytest.mark.parametrize(
    ("found", "message"),
    [
        ({}, "Schema must contain 'type' field"),
        (["type"], "Schema must contain 'type' field"),
        ({"type": "strin"}, "Unknown schema type: strin"),
        ({"type": "array"}, "Array schema did not specify the element type"),
        ({"type": "map", "values": {"type": "int8"}}, "Map schema did not specify the key type"),
        ({"type": "map", "keys": {"type": "int8"}}, "Map schema did not specify the value type"),
        ({"type": "struct"}, 'Struct schema\'s "fields" argument is not an array.'),
        ({"type": "struct", "fields": [{"type": "int8"}]}, "Struct schema's field name not specified properly"),
        ({"type": "string", "parameters": {"a": 1}}, "Schema parameters must have string values."),
    ],
)
def test_what_is_no_schema_fails_with_javas_text(found: Any, message: str) -> None:
    with pytest.raises(DataError) as failure:
        from_json(found)
    assert str(failure.value) == message


def test_a_default_that_does_not_fit_fails() -> None:
    with pytest.raises(DataError):
        from_json({"type": "bytes", "default": 5})
    with pytest.raises(DataError):
        schema_text(Schema(SchemaType.BYTES, default=5))

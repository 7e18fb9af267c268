from typing import Any

import pytest

from connect_dagster.converters.json_schema.translation import FromConnect, ToConnect
from connect_dagster.errors import DataError
from connect_dagster.plugin.schema import DATE, DECIMAL, STRING_SCHEMA, Schema, SchemaField, SchemaType

INT = Schema(SchemaType.INT32)
SCHEMAS = {
    "facts": Schema(SchemaType.STRING, name="n", version=2, doc="d", parameters=(("a", "1"),), default="x"),
    "optional": Schema(SchemaType.FLOAT32, optional=True, default=1.5),
    "decimal": Schema(SchemaType.BYTES, name=DECIMAL, version=1, parameters=(("scale", "2"),)),
    "date": Schema(SchemaType.INT32, name=DATE, version=1),
    "bytes": Schema(SchemaType.BYTES, default=b"\xff"),
    "list": Schema(SchemaType.ARRAY, value_schema=Schema(SchemaType.BOOLEAN, optional=True)),
    "map": Schema(SchemaType.MAP, key_schema=STRING_SCHEMA, value_schema=INT),
    "entries": Schema(SchemaType.MAP, key_schema=INT, value_schema=STRING_SCHEMA),
    "struct": Schema(
        SchemaType.STRUCT, optional=True, name="a.B", fields=(SchemaField("z", INT), SchemaField("a", INT))
    ),
    "enum": Schema(
        SchemaType.STRING,
        parameters=(("io.confluent.connect.json.Enum", ""), ("io.confluent.connect.json.Enum.red", "red")),
    ),
}


@pytest.mark.parametrize("name", SCHEMAS)
def test_schemas_come_back_whole(name: str) -> None:
    document = FromConnect().json_schema(SCHEMAS[name])
    assert ToConnect(document, {}).schema() == SCHEMAS[name]


def test_the_words_are_confluents() -> None:
    row = Schema(SchemaType.STRUCT, fields=(SchemaField("a", Schema(SchemaType.INT8, optional=True)),))
    assert FromConnect(open=False, required=True).json_schema(row) == {
        "type": "object",
        "properties": {
            "a": {"oneOf": [{"type": "null"}, {"type": "integer", "connect.type": "int8"}], "connect.index": 0}
        },
        "required": [],
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"oneOf": [{"type": "string"}, {"type": "integer"}]}, "several types"),
        ({"type": "array"}, "Array schema did not specify the items type"),
        ({"type": "what"}, "Unsupported schema type what"),
        ({"type": "integer", "connect.type": "what"}, "Unsupported type what"),
        ({"$ref": "other.json#/a"}, "not among the schema's references"),
        ({"type": "object", "properties": {"a": {"$ref": "#"}}}, "holds itself"),
    ],
)
def test_what_is_no_connect_type(document: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        ToConnect(document, {}).schema()


def test_references_to_other_documents() -> None:
    others = {"line.json": {"definitions": {"n": {"type": "integer"}}}}
    assert ToConnect({"$ref": "line.json#/definitions/n"}, others).schema() == Schema(SchemaType.INT64)

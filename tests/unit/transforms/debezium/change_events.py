"""Schemas of change events, as Debezium 3.6 writes them of a table `ops.goods`."""

from connect_dagster.plugin.schema import (
    OPTIONAL_STRING_SCHEMA,
    STRING_SCHEMA,
    Schema,
    SchemaField,
    SchemaType,
)

INT32 = Schema(SchemaType.INT32)
INT64 = Schema(SchemaType.INT64)
OPTIONAL_INT64 = Schema(SchemaType.INT64, optional=True)


def struct(title: str | None, version: int | None = None, optional: bool = False, /, **fields: Schema) -> Schema:
    """Return the schema of a struct of these fields."""
    parts = tuple(SchemaField(field, schema) for field, schema in fields.items())
    return Schema(SchemaType.STRUCT, optional, title, version, fields=parts)


SOURCE = struct(
    "io.debezium.connector.mysql.Source",
    1,
    name=STRING_SCHEMA,
    ts_ms=INT64,
    snapshot=OPTIONAL_STRING_SCHEMA.with_default("false"),
    db=STRING_SCHEMA,
    table=OPTIONAL_STRING_SCHEMA,
    pos=INT64,
)
TRANSACTION = struct("event.block", 1, True, id=STRING_SCHEMA, total_order=INT64, data_collection_order=INT64)
ROW = struct(
    "shop.ops.goods.Value",
    None,
    True,
    id=INT32,
    name=OPTIONAL_STRING_SCHEMA,
    color=OPTIONAL_STRING_SCHEMA.with_default("red"),
)
KEY = struct("shop.ops.goods.Key", id=INT32)


def envelope(row: Schema = ROW, /, title: str = "shop.ops.goods.Envelope", **more: Schema) -> Schema:
    """Return the schema of change events of a row, with further fields."""
    return struct(
        title,
        2,
        before=row,
        after=row,
        source=SOURCE,
        transaction=TRANSACTION,
        op=STRING_SCHEMA,
        ts_ms=OPTIONAL_INT64,
        **more,
    )


ENVELOPE = envelope()


def names(schema: Schema) -> list[str]:
    """Return each field as its name and type, with a question mark where it is optional."""
    return [f"{field.name} {field.schema.type.value}{'?' * field.schema.optional}" for field in schema.fields]

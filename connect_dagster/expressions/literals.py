"""Default values of schemas as Spark literals."""

from __future__ import annotations

from decimal import Context, Decimal
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.plugin.schema import Schema, SchemaType

_EXACT = Context(prec=100)


def literal(schema: Schema, value: Any) -> Column:
    """Return a value in Python's terms as a column of the schema's type."""
    return F.lit(None).cast(schema.to_spark()) if value is None else _literal(schema, value).cast(schema.to_spark())


def _literal(schema: Schema, value: Any) -> Column:
    match schema.type:
        case SchemaType.ARRAY:
            return F.array(*(literal(schema.item, item) for item in value))
        case SchemaType.MAP:
            pairs = [
                literal(part, item)
                for pair in value.items()
                for part, item in zip((schema.key, schema.item), pair, strict=True)
            ]
            return F.create_map(*pairs)
        case SchemaType.STRUCT:
            return F.struct(*(literal(f.schema, value.get(f.name)).alias(f.name) for f in schema.fields))
        case _ if schema.unscaled:
            return F.lit(bytearray(_unscaled_bytes(schema, value)))
        case _:
            return F.lit(bytearray(value) if isinstance(value, bytes) else value)


def _unscaled_bytes(schema: Schema, value: Decimal) -> bytes:
    number = int(value.scaleb(schema.scale, _EXACT))
    return number.to_bytes((number + (number < 0)).bit_length() // 8 + 1, "big", signed=True)

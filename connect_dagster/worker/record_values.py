"""Checks the values of single records against their schemas, before Arrow converts them.

Java: ``ConnectSchema.validateValue`` and ``Struct.validate``; with the texts of their errors.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from connect_dagster.errors import DataError
from connect_dagster.plugin.schema import DATE, DECIMAL, TIME, TIMESTAMP, Schema, SchemaType


def fitting(value: Any, schema: Schema, field: str | None = None) -> Any:
    """Return the value with the defaults of its schema for missing parts.

    Args:
        value: in Python's terms.
        schema: of the value.
        field: name of its field in the struct, for the error.

    Raises:
        DataError: the value does not fit the schema.
    """
    if value is None:
        return _absent(schema, field)
    accepts = _LOGICAL.get(schema.name) or _PHYSICAL[schema.type]
    if not accepts(value):
        at = f' for field: "{field}"' if field is not None else ""
        raise DataError(
            f"Invalid Python object for schema type {_shown(schema)}: {type(value).__name__}{at}: {value!r}"
        )
    match schema.type:
        case SchemaType.STRUCT:
            return _struct(value, schema)
        case SchemaType.ARRAY:
            return [fitting(item, schema.item, field) for item in value]
        case SchemaType.MAP:
            pairs = value.items()
            return [(fitting(key, schema.key, field), fitting(item, schema.item, field)) for key, item in pairs]
        case _:
            return value


def _absent(schema: Schema, field: str | None) -> Any:
    if schema.optional:
        return None
    if schema.default is not None:
        return schema.default
    what = f'required field: "{field}", schema type: {_shown(schema)}' if field is not None else "required schema"
    raise DataError(f"Invalid value: null used for {what}")


def _struct(value: Mapping[str, Any], schema: Schema) -> dict[str, Any]:
    names = [one.name for one in schema.fields]
    for name in value:
        if name not in names:
            raise DataError(f"{name} is not a valid field name; the schema has {', '.join(names)}")
    return {one.name: fitting(value.get(one.name), one.schema, one.name) for one in schema.fields}


def _shown(schema: Schema) -> str:
    return schema.type.name if schema.name is None else f"{schema.type.name} ({schema.name})"


def _integer(bits: int) -> Callable[[Any], bool]:
    most = 2 ** (bits - 1)
    return lambda value: isinstance(value, int) and not isinstance(value, bool) and -most <= value < most


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_PHYSICAL: Mapping[SchemaType, Callable[[Any], bool]] = {
    SchemaType.INT8: _integer(8),
    SchemaType.INT16: _integer(16),
    SchemaType.INT32: _integer(32),
    SchemaType.INT64: _integer(64),
    SchemaType.FLOAT32: _number,
    SchemaType.FLOAT64: _number,
    SchemaType.BOOLEAN: lambda value: isinstance(value, bool),
    SchemaType.STRING: lambda value: isinstance(value, str),
    SchemaType.BYTES: lambda value: isinstance(value, bytes | bytearray | memoryview),
    SchemaType.ARRAY: lambda value: isinstance(value, list | tuple),
    SchemaType.MAP: lambda value: isinstance(value, Mapping),
    SchemaType.STRUCT: lambda value: isinstance(value, Mapping),
}
_LOGICAL: Mapping[str | None, Callable[[Any], bool]] = {
    DECIMAL: lambda value: isinstance(value, Decimal),
    DATE: lambda value: isinstance(value, datetime.date) and not isinstance(value, datetime.datetime),
    TIME: _integer(32),
    TIMESTAMP: lambda value: isinstance(value, datetime.datetime),
}

"""Makes Arrow columns of the values of single records.

Values are checked against their schemas before (Java: ``ConnectSchema.validateValue`` and ``Struct.validate``, with the
texts of their errors). A list of values whose Python types are the usual ones of their schema is checked and converted
by columns, which takes a tenth of the time; any other is checked value by value, which knows defaults and errors.
"""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from operator import itemgetter
from typing import Any

import pyarrow as pa
from pyspark.sql import types as spark_types
from pyspark.sql.pandas.types import to_arrow_schema

from connect_dagster.errors import DataError
from connect_dagster.plugin.schema import DATE, DECIMAL, TIME, TIMESTAMP, Schema, SchemaType
from connect_dagster.worker.json_texts import json_texts

_REFUSED = (pa.ArrowException, ValueError, TypeError, OverflowError)


def column_of(values: Sequence[Any], schema: Schema | None) -> pa.Array:
    """Return the values of records as a column, in the Arrow type of Spark's for their schema.

    Args:
        values: in Python's terms.
        schema: of all of them; ``None`` for values without one, which become JSON text.

    Raises:
        DataError: a value does not fit.
    """
    if schema is None:
        return json_texts(values)
    field = _arrow_field(schema)
    try:
        return _columnar(values, schema, field.type)
    except _UnusualError:
        pass
    return arrow_array([fitting(value, schema) for value in values], field.type)


def arrow_array(values: Sequence[Any], type: pa.DataType) -> pa.Array:
    """Return values as a column. Raises DataError: one does not fit the type."""
    try:
        return pa.array(values, type)
    except _REFUSED as error:
        raise DataError(f"A record does not fit its schema: {error}") from error


@lru_cache(maxsize=200)
def _arrow_field(schema: Schema) -> pa.Field:
    """Return the field of a column with such values, as Spark converts it."""
    return to_arrow_schema(spark_types.StructType([spark_types.StructField("value", schema.to_spark())])).field(0)


class _UnusualError(Exception):
    """Values are to be looked at one by one."""


def _columnar(values: Sequence[Any], schema: Schema, type: pa.DataType) -> pa.Array:
    """Return values of the usual Python types as a column.

    Raises:
        _UnusualError: a value has another type, is missing, or does not fit.
    """
    kinds = set(map(_type_of, values))
    if _NONE in kinds:
        if not schema.optional:
            raise _UnusualError
        kinds.discard(_NONE)
        if schema.type in _NESTED:
            return _with_nulls(values, schema, type)
    usual = _USUAL_LOGICAL.get(schema.name) or _USUAL[schema.type]
    if not kinds <= usual or schema.unscaled:
        raise _UnusualError
    try:
        match schema.type if schema.name not in _USUAL_LOGICAL else None:
            case SchemaType.STRUCT:
                return _struct_column(values, schema, type)
            case SchemaType.ARRAY:
                items = list(itertools.chain.from_iterable(values))
                return pa.ListArray.from_arrays(
                    _offsets(values), _columnar(items, schema.item, type.value_type), type=type
                )
            case SchemaType.MAP:
                keys = list(itertools.chain.from_iterable(values))
                items = list(itertools.chain.from_iterable(value.values() for value in values))
                return pa.MapArray.from_arrays(
                    _offsets(values),
                    _columnar(keys, schema.key, type.key_type),
                    _columnar(items, schema.item, type.item_type),
                    type=type,
                )
            case _:
                return pa.array(values, type)
    except _REFUSED as error:
        raise _UnusualError from error


def _with_nulls(values: Sequence[Any], schema: Schema, type: pa.DataType) -> pa.Array:
    present = _columnar([value for value in values if value is not None], schema, type)
    numbers = itertools.count()
    return present.take(pa.array([None if value is None else next(numbers) for value in values], pa.int64()))


def _struct_column(values: Sequence[Mapping[str, Any]], schema: Schema, type: pa.StructType) -> pa.Array:
    columns, given = [], 0
    for number, field in enumerate(schema.fields):
        try:
            found = list(map(itemgetter(field.name), values))
            given += len(found)
        except KeyError:
            if field.schema.default is not None:
                raise _UnusualError from None
            given += sum(field.name in value for value in values)
            found = [value.get(field.name) for value in values]
        columns.append(_columnar(found, field.schema, type.field(number).type))
    if given != sum(map(len, values)):  # a value has another field
        raise _UnusualError
    if not columns:
        return pa.array(values, type)
    return pa.StructArray.from_arrays(columns, fields=list(type))


def _offsets(values: Sequence[Any]) -> pa.Array:
    return pa.array(itertools.accumulate(map(len, values), initial=0), pa.int32())


_NONE = type(None)
_type_of = type
_NESTED = frozenset({SchemaType.STRUCT, SchemaType.ARRAY, SchemaType.MAP})
_USUAL: Mapping[SchemaType, frozenset[type]] = {
    **dict.fromkeys((SchemaType.INT8, SchemaType.INT16, SchemaType.INT32, SchemaType.INT64), frozenset({int})),
    **dict.fromkeys((SchemaType.FLOAT32, SchemaType.FLOAT64), frozenset({int, float})),
    SchemaType.BOOLEAN: frozenset({bool}),
    SchemaType.STRING: frozenset({str}),
    SchemaType.BYTES: frozenset({bytes}),
    SchemaType.ARRAY: frozenset({list, tuple}),
    SchemaType.MAP: frozenset({dict}),
    SchemaType.STRUCT: frozenset({dict}),
}
_USUAL_LOGICAL: Mapping[str | None, frozenset[type]] = {
    DECIMAL: frozenset({Decimal}),
    DATE: frozenset({datetime.date}),
    TIME: frozenset({int}),
    TIMESTAMP: frozenset({datetime.datetime}),
}


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

"""Connect schemas as the JSON of the envelope ``{"schema": …, "payload": …}``, and back (Java: ``JsonSchema``).

Pure: independent of Spark.
"""

from __future__ import annotations

import base64
import datetime
import decimal
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np

from connect_dagster.converters.json import text as json_text
from connect_dagster.errors import DataError
from connect_dagster.plugin.schema import DATE, DECIMAL, TIMESTAMP, Schema, SchemaField, SchemaType

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_MILLISECOND = datetime.timedelta(milliseconds=1)
_TYPES = {type_.value: type_ for type_ in SchemaType}
_EXACT = decimal.Context(prec=1000)


def schema_text(schema: Schema | None, *, numeric_decimals: bool = False) -> str:
    """Return the schema half of the envelope as Java writes it: no blanks, raw UTF-8, keys in Java's order."""
    return json_text.dumps(to_json(schema, numeric_decimals=numeric_decimals))


def to_json(schema: Schema | None, *, numeric_decimals: bool = False) -> dict[str, Any] | None:
    """Return the schema as a JSON object.

    Args:
        schema: what to describe; ``None`` for schemaless.
        numeric_decimals: write default values of decimals as numbers instead of base64.

    Raises:
        DataError: a part of the schema is missing, or its default value does not fit.
    """
    if schema is None:
        return None
    found = {"type": schema.type.value, **_parts(schema, numeric_decimals), "optional": schema.optional}
    found |= {key: value for key in ("name", "version", "doc") if (value := getattr(schema, key)) is not None}
    if schema.parameters:
        found["parameters"] = dict(schema.parameters)
    if schema.default is not None:
        found["default"] = value_to_json(schema, schema.default, numeric_decimals=numeric_decimals)
    return found


def _parts(schema: Schema, numeric: bool) -> dict[str, Any]:
    match schema.type:
        case SchemaType.ARRAY:
            return {"items": to_json(schema.item, numeric_decimals=numeric)}
        case SchemaType.MAP:
            return {
                "keys": to_json(schema.key, numeric_decimals=numeric),
                "values": to_json(schema.item, numeric_decimals=numeric),
            }
        case SchemaType.STRUCT:
            fields = [(field.name, to_json(field.schema, numeric_decimals=numeric)) for field in schema.fields]
            return {"fields": [{**(found or {}), "field": name} for name, found in fields]}
        case _:
            return {}


def value_to_json(schema: Schema, value: Any, *, numeric_decimals: bool = False) -> Any:
    """Return a value in Python's terms as what ``json_text.dumps`` writes (Java: ``JsonConverter.convertToJson``)."""
    if value is None:
        return None
    try:
        return _value_to_json(schema, value, numeric_decimals)
    except (TypeError, ValueError, AttributeError, KeyError, OverflowError) as error:
        raise DataError(f"Invalid type for {schema.type.name}: {type(value).__name__}") from error


def _value_to_json(schema: Schema, value: Any, numeric: bool) -> Any:
    if schema.name in _LOGICAL_TO_JSON:
        return _LOGICAL_TO_JSON[schema.name](schema, value, numeric)
    match schema.type:
        case SchemaType.FLOAT32:
            return np.float32(value)
        case SchemaType.FLOAT64:
            return float(value)
        case SchemaType.BYTES:
            return base64.b64encode(value).decode()
        case SchemaType.ARRAY:
            return [value_to_json(schema.item, item, numeric_decimals=numeric) for item in value]
        case SchemaType.MAP:
            return _map_to_json(schema, value, numeric)
        case SchemaType.STRUCT:
            fields = ((field.name, field.schema) for field in schema.fields)
            return {name: value_to_json(part, value.get(name), numeric_decimals=numeric) for name, part in fields}
        case _:
            return value


def _map_to_json(schema: Schema, value: Mapping[Any, Any] | Sequence[tuple[Any, Any]], numeric: bool) -> Any:
    pairs = [
        [
            value_to_json(part, item, numeric_decimals=numeric)
            for part, item in zip((schema.key, schema.item), pair, strict=True)
        ]
        for pair in (value.items() if isinstance(value, Mapping) else value)
    ]
    return dict(pairs) if schema.key.type is SchemaType.STRING else pairs


def _decimal_to_json(schema: Schema, value: Decimal, numeric: bool) -> Any:
    if numeric:
        return value
    sign, digits, exponent = value.as_tuple()
    # Only the sum of both is small: texts such as 1e99999999 have any exponent.
    unscaled = int(Decimal((sign, digits, 0)).scaleb(int(exponent) + schema.scale, _EXACT))
    length = (unscaled + (unscaled < 0)).bit_length() // 8 + 1
    return base64.b64encode(unscaled.to_bytes(length, "big", signed=True)).decode()


def _timestamp(value: datetime.datetime) -> int:
    moment = value if value.tzinfo else value.replace(tzinfo=datetime.UTC)
    return (moment - _EPOCH) // _MILLISECOND


_LOGICAL_TO_JSON: dict[str | None, Any] = {
    DECIMAL: _decimal_to_json,
    DATE: lambda schema, value, numeric: (value - _EPOCH.date()).days,
    TIMESTAMP: lambda schema, value, numeric: _timestamp(value),
}


def from_json(found: Any) -> Schema | None:
    """Return the schema that a JSON object describes (Java: ``JsonConverter.asConnectSchema``).

    Raises:
        DataError: with Java's text; the object describes none.
    """
    if found is None:
        return None
    type_name = _get(found, "type")
    if not isinstance(type_name, str):
        raise DataError("Schema must contain 'type' field")
    if type_name not in _TYPES:
        raise DataError(f"Unknown schema type: {type_name}")
    type_ = _TYPES[type_name]
    schema = Schema(
        type_,
        optional=found.get("optional") is True,
        name=_only(str, found.get("name")),
        version=_only(int, found.get("version")),
        doc=_only(str, found.get("doc")),
        parameters=_parameters(found.get("parameters")),
        **_PARTS_FROM_JSON.get(type_, lambda _: {})(found),
    )
    return schema.with_default(value_from_json(schema, found.get("default")))


def _array_parts(found: Mapping[str, Any]) -> dict[str, Any]:
    if found.get("items") is None:
        raise DataError("Array schema did not specify the element type")
    return {"value_schema": from_json(found["items"])}


def _map_parts(found: Mapping[str, Any]) -> dict[str, Any]:
    for key, what in (("keys", "key"), ("values", "value")):
        if found.get(key) is None:
            raise DataError(f"Map schema did not specify the {what} type")
    return {"key_schema": from_json(found["keys"]), "value_schema": from_json(found["values"])}


def _struct_parts(found: Mapping[str, Any]) -> dict[str, Any]:
    fields = found.get("fields")
    if not isinstance(fields, list):
        raise DataError('Struct schema\'s "fields" argument is not an array.')
    return {"fields": tuple(_field(field) for field in fields)}


def _field(found: Any) -> SchemaField:
    name, schema = _get(found, "field"), from_json(found)
    if not isinstance(name, str) or schema is None:
        raise DataError("Struct schema's field name not specified properly")
    return SchemaField(name, schema)


_PARTS_FROM_JSON = {
    SchemaType.ARRAY: _array_parts,
    SchemaType.MAP: _map_parts,
    SchemaType.STRUCT: _struct_parts,
}


def value_from_json(schema: Schema, found: Any) -> Any:
    """Return a default value in Python's terms.

    Raises:
        DataError: it does not fit the schema.
    """
    if found is None:
        return None
    try:
        return _value_from_json(schema, found)
    except (TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise DataError(f"Invalid default value {found!r} for schema type {schema.type.name}") from error


def _value_from_json(schema: Schema, found: Any) -> Any:
    if schema.name in _LOGICAL_FROM_JSON:
        return _LOGICAL_FROM_JSON[schema.name](schema, found)
    match schema.type:
        case SchemaType.BYTES:
            return base64.b64decode(found, validate=True)
        case SchemaType.FLOAT32 | SchemaType.FLOAT64:
            return float(found)
        case SchemaType.ARRAY:
            return [value_from_json(schema.item, item) for item in found]
        case SchemaType.MAP:
            pairs = found.items() if schema.key.type is SchemaType.STRING else found
            return {value_from_json(schema.key, k): value_from_json(schema.item, v) for k, v in pairs}
        case SchemaType.STRUCT:
            return {f.name: value_from_json(f.schema, found.get(f.name)) for f in schema.fields}
        case _:
            return found


def _decimal_from_json(schema: Schema, found: Any) -> Decimal:
    if not isinstance(found, str):
        return Decimal(str(found))
    unscaled = int.from_bytes(base64.b64decode(found, validate=True), "big", signed=True)
    sign, digits, _ = Decimal(unscaled).as_tuple()
    return Decimal((sign, digits, -schema.scale))


_LOGICAL_FROM_JSON: dict[str | None, Any] = {
    DECIMAL: _decimal_from_json,
    DATE: lambda schema, found: (_EPOCH + datetime.timedelta(days=found)).date(),
    TIMESTAMP: lambda schema, found: _EPOCH + found * _MILLISECOND,
}


def _get(found: Any, key: str) -> Any:
    return found.get(key) if isinstance(found, Mapping) else None


def _only(kind: type, value: Any) -> Any:
    return value if isinstance(value, kind) and not isinstance(value, bool) else None


def _parameters(found: Any) -> tuple[tuple[str, str], ...]:
    if not isinstance(found, Mapping):
        return ()
    if not all(isinstance(value, str) for value in found.values()):
        raise DataError("Schema parameters must have string values.")
    return tuple(found.items())

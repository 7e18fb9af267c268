"""Single values as JSON and back, for headers: the rules of ``json_encoding`` and ``json_decoding`` in Python."""

from __future__ import annotations

from typing import Any

from connect_dagster.converters.json import envelope as json_envelope
from connect_dagster.converters.json import text as json_text
from connect_dagster.converters.json.encoding import REQUIRED_IS_NULL
from connect_dagster.errors import DataError
from connect_dagster.plugin.schema import Schema, SchemaType


def written(schema: Schema, value: Any, *, numeric_decimals: bool, replace_null: bool) -> str:
    """Return the JSON text of a value.

    Raises:
        DataError: with Java's text; it has null where the schema allows none.
    """
    filled = _filled(schema, value, replace_null)
    return json_text.dumps(json_envelope.value_to_json(schema, filled, numeric_decimals=numeric_decimals))


def _filled(schema: Schema, value: Any, replace_null: bool) -> Any:
    if value is None:
        return _in_place_of_null(schema, replace_null, REQUIRED_IS_NULL)
    match schema.type:
        case SchemaType.STRUCT:
            return {f.name: _filled(f.schema, value.get(f.name), replace_null) for f in schema.fields}
        case SchemaType.ARRAY:
            return [_filled(schema.item, item, replace_null) for item in value]
        case SchemaType.MAP:
            return {
                _filled(schema.key, key, replace_null): _filled(schema.item, item, replace_null)
                for key, item in value.items()
            }
        case _:
            return value


def read(schema: Schema, found: Any, *, replace_null: bool) -> Any:
    """Return the value that parsed JSON holds.

    Raises:
        DataError: it does not fit the schema.
    """
    if found is None:
        return _in_place_of_null(schema, replace_null, f"Invalid null value for required {schema.type.name} field")
    try:
        return _read(schema, found, replace_null)
    except (TypeError, ValueError, AttributeError) as error:
        raise DataError(f"Payload does not fit its schema of type {schema.type.name}") from error


def _read(schema: Schema, found: Any, replace_null: bool) -> Any:
    match schema.type:
        case SchemaType.STRUCT:
            return {f.name: read(f.schema, found.get(f.name), replace_null=replace_null) for f in schema.fields}
        case SchemaType.ARRAY:
            return [read(schema.item, item, replace_null=replace_null) for item in found]
        case SchemaType.MAP:
            pairs = found.items() if schema.key.type is SchemaType.STRING else found
            return {
                read(schema.key, key, replace_null=replace_null): read(schema.item, item, replace_null=replace_null)
                for key, item in pairs
            }
        case _:
            return json_envelope.value_from_json(schema, found)


def _in_place_of_null(schema: Schema, replace_null: bool, error: str) -> Any:
    if schema.default is not None and replace_null:
        return schema.default
    if not schema.optional:
        raise DataError(error)
    return None

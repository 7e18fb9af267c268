"""Default values between Python's terms and the JSON of Avro schemas: bytes are text of one character each.

Java: ``AvroData.defaultValueFromConnect`` and ``defaultValueFromAvro``. Otherwise as in the JSON envelope.
"""

from __future__ import annotations

import base64
from typing import Any

from connect_dagster.converters.json import envelope as json_envelope
from connect_dagster.plugin.schema import Schema, SchemaType


def to_avro(schema: Schema, value: Any) -> Any:
    """Return a default value as JSON.

    Raises:
        DataError: it does not fit the schema.
    """
    return _bytes_changed(
        schema, json_envelope.value_to_json(schema, value), lambda text: base64.b64decode(text).decode("latin-1")
    )


def to_connect(schema: Schema, found: Any) -> Any:
    """Return a default value in Python's terms.

    Raises:
        DataError: it does not fit the schema.
    """
    envelope = _bytes_changed(schema, found, lambda text: base64.b64encode(text.encode("latin-1")).decode())
    return json_envelope.value_from_json(schema, envelope)


def _bytes_changed(schema: Schema, found: Any, change: Any) -> Any:
    if found is None:
        return None
    match schema.type:
        case SchemaType.BYTES if isinstance(found, str):
            return change(found)
        case SchemaType.FLOAT32:
            return float(str(found))
        case SchemaType.ARRAY:
            return [_bytes_changed(schema.item, one, change) for one in found]
        case SchemaType.MAP if isinstance(found, dict):
            return {key: _bytes_changed(schema.item, one, change) for key, one in found.items()}
        case SchemaType.MAP:
            parts = (schema.key, schema.item)
            return [[_bytes_changed(*one, change) for one in zip(parts, pair, strict=True)] for pair in found]
        case SchemaType.STRUCT if isinstance(found, dict):
            return {f.name: _bytes_changed(f.schema, found.get(f.name), change) for f in schema.fields}
        case _:
            return found

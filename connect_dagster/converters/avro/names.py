"""Names and properties with a meaning between Connect and Avro (Java: ``AvroData``)."""

from __future__ import annotations

import re
from urllib.parse import quote_plus

from connect_dagster.plugin.schema import DATE, TIME, TIMESTAMP, Schema, SchemaType

NAMESPACE = "io.confluent.connect.avro"
DEFAULT_NAME = f"{NAMESPACE}.ConnectDefault"
MAP_ENTRY = "MapEntry"
KEY, VALUE = "key", "value"
UNION = f"{NAMESPACE}.Union"
ENUM = f"{NAMESPACE}.Enum"
RECORD_DOC = f"{NAMESPACE}.record.doc"
FIELD_DOC = f"{NAMESPACE}.field.doc."
FIELD_DEFAULT = f"{NAMESPACE}.field.default"
ENUM_DOC = f"{NAMESPACE}.enum.doc."
ENUM_DEFAULT = f"{NAMESPACE}.enum.default."
AVRO_PROPERTY = "avro"

NAME, DOC, VERSION, TYPE = "connect.name", "connect.doc", "connect.version", "connect.type"
DEFAULT, PARAMETERS, INTERNAL_TYPE = "connect.default", "connect.parameters", "connect.internal.type"
PRECISION = "connect.decimal.precision"
DEFAULT_PRECISION = 64

LOGICAL_TYPES = {DATE: "date", TIME: "time-millis", TIMESTAMP: "timestamp-millis"}

_START = re.compile(r"[A-Za-z_]")
_INVALID = re.compile(r"[^A-Za-z0-9_]")
_VALID = re.compile(r"[^\W\d]\w*")


def is_valid(name: str) -> bool:
    """Return whether Avro takes this for a name."""
    return _VALID.fullmatch(name) is not None


def scrubbed(name: str) -> str:
    """Return a valid name, as like this one as can be (``scrub.invalid.names``)."""
    encoded = quote_plus(name, safe="*").replace("~", "%7E")
    return _INVALID.sub("_", encoded if _START.match(encoded) else f"x{encoded}")


def has_text_keys(schema: Schema, *, optional_too: bool) -> bool:
    """Return whether a MAP is a map in Avro, too; all other ones are arrays of entries."""
    return schema.key.type is SchemaType.STRING and (optional_too or not schema.key.optional)

"""What Java's ``toString`` says of one value: ``plugin.java_text`` for headers that tasks hand over one by one."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from connect_dagster.converters.json.text import java_decimal, java_double
from connect_dagster.plugin.schema import DATE, DECIMAL, TIME, TIMESTAMP, Schema, SchemaType

_MILLISECOND = datetime.timedelta(milliseconds=1)
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


def java_value_text(schema: Schema | None, value: Any) -> str:
    """The text of a value in Python's terms; ``null`` of none."""
    if value is None:
        return "null"
    if schema is not None and schema.name in _LOGICAL:
        return _LOGICAL[schema.name](value)
    if schema is not None and schema.type is SchemaType.STRUCT:
        parts = [
            (f.name, java_value_text(f.schema, value.get(f.name)))
            for f in schema.fields
            if value.get(f.name) is not None
        ]
        return "Struct{" + ",".join(f"{name}={text}" for name, text in parts) + "}"
    match value:
        case bool():
            return str(value).lower()
        case float():
            return java_double(value)
        case Decimal():
            return java_decimal(value)
        case bytes():
            return value.decode(errors="replace")
        case list() | tuple():
            item = schema.item if schema else None
            return "[" + ", ".join(java_value_text(item, one) for one in value) + "]"
        case dict():
            key, item = (schema.key, schema.item) if schema else (None, None)
            pairs = (f"{java_value_text(key, name)}={java_value_text(item, one)}" for name, one in value.items())
            return "{" + ", ".join(pairs) + "}"
        case _:
            return str(value)


def _moment(value: datetime.datetime) -> str:
    moment = value.astimezone(datetime.UTC) if value.tzinfo else value
    return moment.strftime("%a %b %d %H:%M:%S UTC %Y")


_LOGICAL: dict[str | None, Callable[[Any], str]] = {
    DECIMAL: java_decimal,
    DATE: lambda day: _moment(datetime.datetime.combine(day, datetime.time())),
    TIME: lambda milliseconds: _moment(_EPOCH + milliseconds * _MILLISECOND),
    TIMESTAMP: _moment,
}

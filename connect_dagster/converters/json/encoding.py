"""Typed columns as JSON text, within Spark's plans (Java: ``JsonConverter.convertToJson``).

``ConnectJson.java`` writes them with the generator that Java Connect uses, from Spark's rows to bytes. Spark's own
``to_json`` makes strings of Java's first, knows no maps but those with strings for keys, and does not escape all that
Java escapes.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import Column

from connect_dagster.converters.json import envelope
from connect_dagster.converters.json import text as json_text
from connect_dagster.expressions.java_calls import column_of, expression, kept_in_jvm
from connect_dagster.expressions.java_classes import new_instance
from connect_dagster.plugin.schema import DATE, DECIMAL, TIMESTAMP, Schema, SchemaType

REQUIRED_IS_NULL = "Conversion error: null value for field that is required and has no default value"

_JSON = Path(__file__).with_name("ConnectJson.java")
_LOGICAL = frozenset({DECIMAL, DATE, TIMESTAMP})


@dataclass(frozen=True, slots=True)
class JsonEncoding:
    """Options for writing values as JSON.

    Attributes:
        numeric_decimals: write decimals as numbers instead of base64 (``decimal.format``).
        replace_null: write the default value in place of null (``replace.null.with.default``).
    """

    numeric_decimals: bool = False
    replace_null: bool = True

    def breaks(self, schema: Schema, column: Column) -> Column | None:
        """Return whether a value has null where the schema allows none; never null, and ``None`` where no value can."""
        if not self._has_required(schema):
            return None
        return column_of(_json().breaks(expression(column), self._shape(schema)))

    def written(self, schema: Schema, column: Column, start: str = "", end: str = "") -> Column:
        """Return the bytes of values as JSON; ``null`` where one is null and may be.

        Args:
            schema: of the values.
            column: of the Spark type that the schema has, or one like it; the fields of structs in any order.
            start: stands before each value.
            end: stands after it.
        """
        return column_of(_json().written(expression(column), self._shape(schema), start, end))

    def _has_required(self, schema: Schema) -> bool:
        """Return whether a value or a part of it has to be there."""
        if self._null(schema) is None:
            return True
        of_keys = () if schema.key_schema is None else schema.key_schema.fields  # a key itself is never null
        items = () if schema.value_schema is None else (schema.value_schema,)
        return any(map(self._has_required, (*items, *(field.schema for field in (*schema.fields, *of_keys)))))

    def _shape(self, schema: Schema) -> str:
        """Return as JSON what ``ConnectJson.java`` has to know of values and their parts."""
        return json_text.dumps(self._part(schema))

    def _part(self, schema: Schema) -> dict[str, Any]:
        return {"absent": self._null(schema), **self._inner(schema)}

    def _null(self, schema: Schema) -> str | None:
        """Return the text that is written in place of null; ``None`` where a value has to be there."""
        if schema.default is not None and self.replace_null:
            default = envelope.value_to_json(schema, schema.default, numeric_decimals=self.numeric_decimals)
            return json_text.dumps(default)
        return "null" if schema.optional else None

    def _inner(self, schema: Schema) -> dict[str, Any]:
        if schema.name == DECIMAL:
            return {"scale": schema.scale, "numeric": self.numeric_decimals}
        if schema.name in _LOGICAL:
            return {}
        match schema.type:
            case SchemaType.STRUCT:
                return {"fields": [{"name": field.name, **self._part(field.schema)} for field in schema.fields]}
            case SchemaType.ARRAY:
                return {"item": self._part(schema.item)}
            case SchemaType.MAP:
                return {"key": self._part(schema.key), "item": self._part(schema.item)}
            case _:
                return {}


@kept_in_jvm(1)
def _json() -> Any:
    return new_instance(_JSON)

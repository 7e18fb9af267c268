"""The values that a connector writes, as typed Spark columns over the records, by its options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.connectors.jdbc.sink.config import JdbcSinkConfig, Precision
from connect_dagster.connectors.jdbc.sink.fields import Part, SinkField
from connect_dagster.errors import ConnectError
from connect_dagster.expressions.struct_edits import field_value
from connect_dagster.plugin.schema import DATE, TIME, TIMESTAMP, SchemaField, SchemaType

_WHOLE: Mapping[Part, str] = {
    Part.KEY: "key",
    Part.VALUE: "value",
    Part.TOPIC: "topic",
    Part.PARTITION: "partition",
    Part.OFFSET: "offset",
}
_STRUCT: Mapping[Part, str] = {Part.KEY_FIELD: "key", Part.VALUE_FIELD: "value"}
_NESTED = (SchemaType.MAP, SchemaType.STRUCT)
_TIME_OF_DAY = (12, 12)  # where it stands in Spark's text of a point in time


@dataclass(frozen=True, slots=True)
class SinkValues:
    """The values of records as Spark columns.

    Attributes:
        config: the connector's configuration.
    """

    config: JdbcSinkConfig

    def column(self, field: SinkField) -> Column:
        """Return a field of a record: timestamps and dates as local times of their zone, times of day as text.

        Raises:
            ConnectError: no column of a table can hold such values.
        """
        schema = field.schema
        if self.is_timestamp(field):
            return self._on_the_wall(self.instant(field))
        found = self._found(field)
        if schema.name == DATE:
            return self._day(found)
        if schema.name == TIME:
            return F.substring(self._on_the_wall(F.timestamp_millis(found)).cast("string"), *_TIME_OF_DAY)
        if schema.type in _NESTED:
            raise ConnectError(f"Unsupported source data type: {schema.type.name} of field {field.name}")
        return found

    def instant(self, field: SinkField) -> Column:
        """Return a field that :meth:`is_timestamp` as Spark's timestamp."""
        found = self._found(field)
        return self._counted(found) if self.is_counted(field) else found

    def is_no_number(self, field: SinkField) -> Column:
        """Return whether the text of a field that :meth:`is_counted` is not a number."""
        found = self._found(field)
        return found.isNotNull() & found.try_cast("long").isNull()

    def is_counted(self, field: SinkField) -> bool:
        """Return whether it holds numbers that are timestamps (``timestamp.fields.list``)."""
        kinds = (SchemaType.INT64, SchemaType.STRING)
        return field.name in self.config.timestamp_fields and field.schema.type in kinds and field.schema.name is None

    def is_timestamp(self, field: SinkField) -> bool:
        """Return whether its values are timestamps."""
        return field.schema.name == TIMESTAMP or self.is_counted(field)

    def _found(self, field: SinkField) -> Column:
        if field.part in _WHOLE:
            return F.col(_WHOLE[field.part])
        replace_null = self.config.replace_null_with_default and field.part is Part.VALUE_FIELD
        schema_field = SchemaField(field.name, field.schema)
        return field_value(F.col(_STRUCT[field.part]), schema_field, replace_null=replace_null)

    def _counted(self, number: Column) -> Column:
        counted = number.try_cast("long")
        nanoseconds = self.config.precision is Precision.NANOSECONDS
        return F.timestamp_micros(F.call_function("div", counted, F.lit(1000)) if nanoseconds else counted)

    def _on_the_wall(self, instant: Column) -> Column:
        zone = self.config.db_timezone
        return instant if zone == "UTC" else F.from_utc_timestamp(instant, zone)

    def _day(self, date: Column) -> Column:
        zone = self.config.date_timezone
        return date if zone == "UTC" else F.from_utc_timestamp(date.cast("timestamp"), zone).cast("date")

"""A record's value as the line FileStreamSink prints for it."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.expressions.text import as_java_text
from connect_dagster.plugin.schema import Schema


def as_text(schema: Schema | None, column: Column) -> Column:
    """What Java's ``println`` prints of a typed column (see ``java_text`` for what differs); never null."""
    return F.coalesce(as_java_text(schema, column), F.lit("null"))

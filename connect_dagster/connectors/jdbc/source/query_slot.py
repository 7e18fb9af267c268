"""Statements that one DataFrame reads over JDBC, another for each run: Spark connects and plans once.

A Spark task gets its statement when a job submits it: the text is an attribute of the options
(``org.apache.spark.sql.execution.datasources.jdbc.JDBCOptions``), a condition one of its partition
(``JDBCPartition``). Both are values in Scala, and private to Spark.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame

from connect_dagster.expressions.java_calls import writable_field

_TEXT, _CONDITION = "tableOrQuery", "whereClause"


class QuerySlot:
    """A settable statement that a DataFrame reads.

    Args:
        df: as ``spark.read.jdbc`` returns it.

    Raises:
        Py4JError: this Spark has other parts.
    """

    def __init__(self, df: DataFrame) -> None:
        relation = df._jdf.queryExecution().analyzed().collectLeaves().head().relation()
        self._options, self._parts = relation.jdbcOptions(), list(relation.parts())
        self._text = writable_field(self._options, _TEXT)
        self._condition = writable_field(self._parts[0], _CONDITION)

    def set(self, table: str, conditions: Sequence[str]) -> None:
        """Read these rows from here on; a run that is under way must have ended.

        Args:
            table: a statement in parentheses with a name behind it.
            conditions: as many as the DataFrame was made with.
        """
        self._text.set(self._options, table)
        for part, condition in zip(self._parts, conditions, strict=bool(conditions)):
            self._condition.set(part, condition)

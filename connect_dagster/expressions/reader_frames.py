"""DataFrames over readers in Java, below Spark's data sources: no table, no scan, no statistics (``DataSourceRDD``)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from connect_dagster.expressions.java_calls import jvm, sequence


def frame_of_readers(spark: SparkSession, tasks: Iterable[Iterable[Any]], readers: Any, schema: Any) -> DataFrame:
    """Return the rows that readers make of parts; nothing is read yet.

    Args:
        spark: the worker's session.
        tasks: the parts of each Spark task, in order (Java: ``InputPartition``).
        readers: makes the reader of a part (Java: ``PartitionReaderFactory``).
        schema: of the rows (Java: ``StructType``).

    Raises:
        Py4JError: this Spark has other parts.
    """
    spark_parts = jvm().org.apache.spark
    parts = sequence(*(sequence(*task) for task in tasks))
    no_metrics = spark_parts.api.python.PythonUtils.toScalaMap(jvm().java.util.HashMap())
    rdd = spark_parts.sql.execution.datasources.v2.DataSourceRDD(spark._jsc.sc(), parts, readers, False, no_metrics)
    session: Any = spark._jsparkSession
    return DataFrame(session.internalCreateDataFrame(rdd, schema, False), spark)

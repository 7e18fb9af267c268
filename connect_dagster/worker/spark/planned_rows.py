"""The rows of a plan for another use of Spark's, without planning it again.

What writes a DataFrame plans it again, so that the metrics of the first plan stay at zero.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession


def planned_rows(spark: SparkSession, df: DataFrame) -> DataFrame:
    """Return the rows of a DataFrame's own plan, whose metrics count them.

    Args:
        spark: its session.
        df: not run yet.
    """
    jvm_df = df._jdf
    rows = jvm_df.queryExecution().toRdd()
    return DataFrame(spark._jsparkSession.internalCreateDataFrame(rows, jvm_df.schema(), False), spark)

"""Rows before transforms: counted where a plan begins."""

from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

from connect_dagster.worker.spark.progress import rows_into_plan


def test_rows_are_counted_before_they_are_left_out(spark: SparkSession) -> None:
    plan = spark.createDataFrame(pa.table({"value": [str(one) for one in range(10)]})).where("value > '6'")
    assert plan.toArrow().num_rows == 3
    assert rows_into_plan(plan) == 10


def test_leaves_of_several_branches_add_up(spark: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "lines.txt"
    file.write_text("a\nb\nc\n")
    plan = spark.read.text(str(file)).where("value != 'b'").union(spark.createDataFrame(pa.table({"value": ["d"]})))
    assert plan.toArrow().num_rows == 3
    assert rows_into_plan(plan) == 4

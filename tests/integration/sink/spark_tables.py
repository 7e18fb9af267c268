"""Read without Spark what SparkSink writes; and the settings of a worker that knows Delta."""

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from connect_dagster.embedded import jars

DELTA = {
    "spark.jars": ",".join(map(str, jars.resolve("delta"))),
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    # Small tables: one partition for their state instead of fifty.
    "spark.databricks.delta.snapshotPartitions": "1",
}


def rows(folder: Path) -> list[dict[str, Any]]:
    """Rows of all Parquet files below a folder, whose folders are columns."""
    if not any(folder.rglob("*.parquet")):
        return []
    found = pq.read_table(folder, partitioning="hive", ignore_prefixes=[".", "_"]).to_pylist()
    return sorted(found, key=lambda row: int(row["id"]))


def actions(table: Path) -> list[dict[str, Any]]:
    """Return the actions in the log of a Delta table, in order."""
    files = sorted((table / "_delta_log").glob("0*.json"))
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def committed(table: Path) -> list[int]:
    """The ids in a Delta table's files."""
    files = [table / action["add"]["path"] for action in actions(table) if "add" in action]
    return sorted(id for file in files for id in pq.read_table(file)["id"].to_pylist())

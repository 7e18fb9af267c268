"""A batch asset downstream of a connector's topic, computed by Spark on a schedule."""

from typing import TYPE_CHECKING

import dagster as dg

from connect_dagster import KafkaPySparkResource

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

STATUS_CODE = r'" (\d{3}) '


def build_requests_by_status(topic: str) -> dg.AssetsDefinition:
    """Return the asset ``requests_by_status``, which counts the requests of an nginx access log by status code.

    Args:
        topic: Lines of the log, in JSON with schema as JsonConverter writes it.
    """

    @dg.asset(
        deps=[dg.AssetKey(["kafka", topic])],
        kinds={"spark"},
        group_name="connect",
        description="Requests in the access log by status code.",
        automation_condition=dg.AutomationCondition.on_cron("@hourly"),
    )
    def requests_by_status(pyspark: KafkaPySparkResource) -> dg.MaterializeResult[None]:
        counts = count_by_status(pyspark.read_topic(topic)).collect()
        table = dg.MetadataValue.table([dg.TableRecord(row.asDict()) for row in counts])
        return dg.MaterializeResult(
            metadata={"requests_by_status": table, "dagster/row_count": sum(row["requests"] for row in counts)}
        )

    return requests_by_status


def count_by_status(records: "DataFrame") -> "DataFrame":
    """Return one row for each status code that occurs.

    Args:
        records: Records of the topic; their column ``value`` holds the JSON.

    Returns:
        The columns ``status`` (null for lines that are not log lines) and ``requests``, by status.
    """
    # PySpark is loaded where it is needed, not with the definitions, which each sensor's tick may load.
    from pyspark.sql import functions as sf

    line = sf.get_json_object(sf.col("value").cast("string"), "$.payload")
    status = sf.nullif(sf.regexp_extract(line, STATUS_CODE, 1), sf.lit("")).alias("status")
    return records.groupBy(status).agg(sf.count("*").alias("requests")).orderBy("status")

"""The records of a topic, as Parquet files of an hour and at most a million records, in a bucket of S3.

Try it: ``dagster dev -f examples/connectors/s3_sink/s3_sink.py``, with a worker at ``CONNECT_URL``.
"""

import dagster as dg

from connect_dagster import KafkaConnectWorkspace, S3SinkResource, build_connector_definitions

connector = S3SinkResource(
    workspace=KafkaConnectWorkspace(url=dg.EnvVar("CONNECT_URL")),
    name="s3-sink",
    tasks_max=2,
    topics=["orders"],
    s3_bucket_name="lake",
    s3_region="eu-central-1",
    format_class="io.confluent.connect.s3.format.parquet.ParquetFormat",
    flush_size=1000000,
    rotate_interval_ms=3600000,
    partitioner_class="io.confluent.connect.storage.partitioner.HourlyPartitioner",
    timestamp_extractor="Record",
    locale="en-US",
    timezone="UTC",
    behavior_on_null_values="ignore",
)

defs = build_connector_definitions(connector)

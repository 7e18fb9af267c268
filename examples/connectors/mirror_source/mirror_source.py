"""The topics of another cluster, with their partitions and settings.

Try it: ``dagster dev -f examples/connectors/mirror_source/mirror_source.py``, with a worker at ``CONNECT_URL``.
"""

import dagster as dg

from connect_dagster import KafkaConnectWorkspace, MirrorSourceResource, build_connector_definitions

connector = MirrorSourceResource(
    workspace=KafkaConnectWorkspace(url=dg.EnvVar("CONNECT_URL")),
    name="mirror-source",
    tasks_max=4,
    source_cluster_alias="eu",
    target_cluster_alias="us",
    topics=["orders.*"],
    replication_factor=3,
    sync_topic_acls_enabled=False,
    config={"source.cluster.bootstrap.servers": "eu-kafka:9092", "target.cluster.bootstrap.servers": "us-kafka:9092"},
)

defs = build_connector_definitions(connector)

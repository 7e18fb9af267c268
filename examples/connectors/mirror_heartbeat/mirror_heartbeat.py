"""A record a second, whose age at the other cluster shows whether a flow moves.

Try it: ``dagster dev -f examples/connectors/mirror_heartbeat/mirror_heartbeat.py``, with a worker at ``CONNECT_URL``.
"""

import dagster as dg

from connect_dagster import KafkaConnectWorkspace, MirrorHeartbeatResource, build_connector_definitions

connector = MirrorHeartbeatResource(
    workspace=KafkaConnectWorkspace(url=dg.EnvVar("CONNECT_URL")),
    name="mirror-heartbeat",
    source_cluster_alias="eu",
    target_cluster_alias="us",
    config={"source.cluster.bootstrap.servers": "eu-kafka:9092", "target.cluster.bootstrap.servers": "us-kafka:9092"},
)

defs = build_connector_definitions(connector)

"""The offsets of consumer groups, translated for the mirrored topics.

Try it: ``dagster dev -f examples/connectors/mirror_checkpoint/mirror_checkpoint.py``, with a worker at ``CONNECT_URL``.
"""

import dagster as dg

from connect_dagster import KafkaConnectWorkspace, MirrorCheckpointResource, build_connector_definitions

connector = MirrorCheckpointResource(
    workspace=KafkaConnectWorkspace(url=dg.EnvVar("CONNECT_URL")),
    name="mirror-checkpoint",
    source_cluster_alias="eu",
    target_cluster_alias="us",
    groups=["billing.*"],
    sync_group_offsets_enabled=True,
    config={
        "source.cluster.bootstrap.servers": "eu-kafka:9092",
        "target.cluster.bootstrap.servers": "us-kafka:9092",
        "topics": "orders.*",
    },
)

defs = build_connector_definitions(connector)

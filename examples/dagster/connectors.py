"""Connectors declared in Python: from a log through a topic to a file, kept as declared by Dagster.

Try it: ``dagster dev -f examples/dagster/connectors.py``, with a worker at ``CONNECT_URL``.
"""

import dagster as dg

from connect_dagster import (
    FileStreamSinkResource,
    FileStreamSourceResource,
    KafkaConnectWorkspace,
    build_connector_definitions,
    build_kafka_connect_polling_sensor,
)

workspace = KafkaConnectWorkspace(url=dg.EnvVar("CONNECT_URL"), bootstrap_servers="127.0.0.1:9092")

access_log = FileStreamSourceResource(
    workspace=workspace, name="access-log", file="/tmp/access.log", topic="access-log", errors_tolerance="all"
)
archive = FileStreamSinkResource(
    workspace=workspace, name="archive", file="/tmp/archive.txt", topics=["access-log"], tasks_max=2
)


@dg.asset(deps=[dg.AssetKey(["file", "tmp", "archive.txt"])])
def archived_offsets(archive: FileStreamSinkResource) -> dg.MaterializeResult[None]:
    """How far the archive is, told by the connector that writes it."""
    offsets = [entry.model_dump() for entry in archive.offsets()]
    return dg.MaterializeResult(metadata={"state": archive.status().summary(), "offsets": offsets})


defs = dg.Definitions.merge(
    build_connector_definitions(access_log, archive),
    dg.Definitions(
        assets=[archived_offsets],
        sensors=[build_kafka_connect_polling_sensor(workspace=workspace)],
    ),
)

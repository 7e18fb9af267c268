"""The lines of a file that grows, as records of a topic.

Try it: ``dagster dev -f examples/connectors/file_source/file_source.py``, with a worker at ``CONNECT_URL``.
"""

import dagster as dg

from connect_dagster import FileStreamSourceResource, KafkaConnectWorkspace, build_connector_definitions

connector = FileStreamSourceResource(
    workspace=KafkaConnectWorkspace(url=dg.EnvVar("CONNECT_URL")),
    name="file-source",
    file="/var/log/access.log",
    topic="access-log",
    value_converter="org.apache.kafka.connect.storage.StringConverter",
)

defs = build_connector_definitions(connector)

"""The records of a topic, as lines of a file.

Try it: ``dagster dev -f examples/connectors/file_sink/file_sink.py``, with a worker at ``CONNECT_URL``.
"""

import dagster as dg

from connect_dagster import FileStreamSinkResource, KafkaConnectWorkspace, build_connector_definitions

connector = FileStreamSinkResource(
    workspace=KafkaConnectWorkspace(url=dg.EnvVar("CONNECT_URL")),
    name="file-sink",
    topics=["access-log"],
    file="/tmp/archive.txt",
    value_converter="org.apache.kafka.connect.storage.StringConverter",
)

defs = build_connector_definitions(connector)

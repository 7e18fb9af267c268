"""Writes the typed resources of the plugins that ship, which `test_typed_resources` compares with what is there.

python -m tests.unit.orchestration.typed_resource_source > connect_dagster/orchestration/resources/bundled.py
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

from connect_dagster.connectors.file.sink import FileStreamSinkConfig, FileStreamSinkConnector
from connect_dagster.connectors.file.source import FileStreamSourceConfig, FileStreamSourceConnector
from connect_dagster.orchestration.resources.connector import ConnectorResource
from connect_dagster.orchestration.resources.resource_source import WrittenResource, module_source
from connect_dagster.orchestration.resources.resource_type import connector_resource_type
from connect_dagster.plugin.config import ConfigDef
from connect_dagster.worker.config.connector import ConnectorConfig
from connect_dagster.worker.config.sink import SinkConnectorConfig
from connect_dagster.worker.config.source import SourceConnectorConfig


@dataclass(frozen=True, slots=True)
class Shipped:
    """A resource that ships: `connector_class` is empty for those that others extend."""

    name: str
    base: str
    config_def: type[ConfigDef]
    doc: str
    connector_class: str = ""


SHIPPED = (
    Shipped(
        "FrameworkConnectorResource",
        ConnectorResource.__name__,
        ConnectorConfig,
        "A connector, with a field for each key that Kafka Connect itself knows.",
    ),
    Shipped(
        "SourceConnectorResource",
        "FrameworkConnectorResource",
        SourceConnectorConfig,
        "A source, with a field for each key that every source has.",
    ),
    Shipped(
        "SinkConnectorResource",
        "FrameworkConnectorResource",
        SinkConnectorConfig,
        "A sink, with a field for each key that every sink has.",
    ),
    Shipped(
        "FileStreamSourceResource",
        "SourceConnectorResource",
        FileStreamSourceConfig,
        "A file whose lines become records of a topic.",
        FileStreamSourceConnector.java_class,
    ),
    Shipped(
        "FileStreamSinkResource",
        "SinkConnectorResource",
        FileStreamSinkConfig,
        "A file that gets a line for each record of its topics.",
        FileStreamSinkConnector.java_class,
    ),
)
TITLE = """Resources for the plugins that ship, a field for each key.

Written by ``tests/unit/orchestration/typed_resource_source``, not by hand.
"""


def typed_resources() -> dict[str, type[ConnectorResource]]:
    """The resources as the function for users makes them, by name."""
    made = {ConnectorResource.__name__: ConnectorResource}
    for each in SHIPPED:
        made[each.name] = connector_resource_type(each.config_def, each.connector_class, base=made[each.base])
    return made


def typed_resource_source() -> str:
    """The module's source, formatted."""
    made = typed_resources()
    classes = [
        WrittenResource(each.name, each.doc, made[each.name], each.base, frozenset(made[each.base].model_fields))
        for each in SHIPPED
    ]
    return module_source(TITLE, ConnectorResource.__module__, ConnectorResource.__name__, classes)


if __name__ == "__main__":
    sys.stdout.write(typed_resource_source())

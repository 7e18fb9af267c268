"""A typed resource for a custom connector, the die of ``examples/plugins/dice.py``."""

from connect_dagster import (
    KafkaConnectWorkspace,
    SourceConnectorResource,
    build_connector_definitions,
    connector_resource_type,
)
from connect_dagster.plugin.config import ConfigDef, Importance, config_key


class DiceConfig(ConfigDef):
    """Configuration of the connector, as its plugin defines it."""

    topic: str = config_key("topic", importance=Importance.HIGH, doc="Topic that receives the rolls.")


DiceResource = connector_resource_type(DiceConfig, "dice.DiceConnector", base=SourceConnectorResource)

defs = build_connector_definitions(DiceResource(workspace=KafkaConnectWorkspace(), name="white-die", topic="rolls"))

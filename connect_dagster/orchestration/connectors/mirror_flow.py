"""Declarations of the three connectors of a flow, on a Connect cluster of the flow's target."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import dagster as dg

from connect_dagster.orchestration.connectors.spec import ConfigValue, KafkaConnectConnectorSpec
from connect_dagster.plugin.connector_file import DesiredState

SOURCE, CHECKPOINT, HEARTBEAT = "source", "checkpoint", "heartbeat"

_JAVA_CLASS = "org.apache.kafka.connect.mirror.Mirror{}Connector"
# Records go over as they are, whatever the worker's own converters.
_CONVERTERS = dict.fromkeys(
    ("key.converter", "value.converter", "header.converter"), "org.apache.kafka.connect.converters.ByteArrayConverter"
)


@dataclass(frozen=True, slots=True)
class MirroredCluster:
    """A Kafka cluster at one end of a flow.

    Attributes:
        alias: Its name in the flow.
        bootstrap_servers: Its brokers, as the workers reach them.
        client_properties: Its login or certificates, in Java's names.
    """

    alias: str
    bootstrap_servers: str
    client_properties: Mapping[str, str] = field(default_factory=dict, repr=False)

    def settings(self, side: str) -> dict[str, ConfigValue]:
        """Return the options of connectors for it as the ``source`` or the ``target``."""
        access = {"bootstrap.servers": self.bootstrap_servers, **self.client_properties}
        return {f"{side}.cluster.alias": self.alias, **{f"{side}.cluster.{name}": one for name, one in access.items()}}


def mirror_connectors(
    source: MirroredCluster,
    target: MirroredCluster,
    *,
    name: str | None = None,
    topics: Sequence[str] = (),
    groups: Sequence[str] = (),
    tasks_max: int = 1,
    config: Mapping[str, ConfigValue] | None = None,
    state: DesiredState = DesiredState.RUNNING,
) -> dict[str, KafkaConnectConnectorSpec]:
    """Return the connectors of a flow by their kind: source, checkpoint, heartbeat.

    Args:
        source: The cluster that is mirrored.
        target: The cluster that receives its records, which is that of the workers.
        name: Begin of the connectors' names. Defaults to ``<source>-to-<target>``.
        topics: Names or regular expressions of topics; Java's default, which is all, when empty.
        groups: Ids or regular expressions of consumer groups; the same when empty.
        tasks_max: Most tasks of the source and of the checkpoint connector.
        config: Further options of all three, as in ``mm2.properties``: each takes those that it knows.
        state: Their declared state.

    Raises:
        DagsterInvalidDefinitionError: Source and target have one alias.
    """
    if source.alias == target.alias:
        raise dg.DagsterInvalidDefinitionError(
            f"Source and target of a flow are two clusters, but both have the alias '{source.alias}'"
        )
    begin = name or f"{source.alias}-to-{target.alias}"
    shared = {**_CONVERTERS, **source.settings("source"), **target.settings("target")}
    chosen = {"topics": ",".join(topics)} if topics else {}
    of_kind: dict[str, dict[str, ConfigValue]] = {
        SOURCE: {**chosen},
        CHECKPOINT: {**chosen, **({"groups": ",".join(groups)} if groups else {})},
        HEARTBEAT: {},
    }
    return {
        kind: KafkaConnectConnectorSpec(
            f"{begin}-{kind}",
            _JAVA_CLASS.format(kind.capitalize()),
            {**shared, **own, **(config or {})},
            1 if kind == HEARTBEAT else tasks_max,
            state,
        )
        for kind, own in of_kind.items()
    }

"""Lineage of connectors: which assets a connector reads and which it writes, told by its configuration.

Sources read a system and write topics; sinks read topics and write a system. Topics are always known. The
system's side is known for the file connectors. Knows the configuration alone, no worker.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from dagster import AssetKey, AssetSpec, MetadataValue

from connect_dagster.orchestration.asset_keys import connector_key, file_key, topic_key
from connect_dagster.orchestration.records import Direction

ConnectorConfig = Mapping[str, str | None]

GROUP_NAME = "connect"
SINK_KEYS = frozenset({"topics", "topics.regex"})


@dataclass(frozen=True, slots=True)
class ConnectorLineage:
    """A connector between what it reads and what it writes."""

    name: str
    direction: Direction
    topics: tuple[str, ...]
    files: tuple[str, ...]

    @property
    def outputs(self) -> tuple[AssetKey, ...]:
        """Assets that get a materialisation when the connector's offsets advance."""
        return self._keys(of_topics=self.direction is Direction.SOURCE)

    @property
    def inputs(self) -> tuple[AssetKey, ...]:
        """Assets the connector depends on."""
        return self._keys(of_topics=self.direction is Direction.SINK)

    def _keys(self, *, of_topics: bool) -> tuple[AssetKey, ...]:
        return tuple(map(topic_key, self.topics) if of_topics else map(file_key, self.files))


def connector_lineage(config: ConnectorConfig, active_topics: Iterable[str] = ()) -> ConnectorLineage:
    """Read the lineage off a connector's configuration.

    Args:
        config: The connector's configuration, with its ``name``.
        active_topics: Topics the connector is known to have used, which the configuration may not tell.
    """
    direction = Direction.SINK if SINK_KEYS & config.keys() else Direction.SOURCE
    configured = (config.get("topics") or config.get("topic") or "").split(",")
    topics = {topic.strip() for topic in configured if topic.strip()} | set(active_topics)
    file = config.get("file") if "FileStream" in (config.get("connector.class") or "") else None
    return ConnectorLineage(config["name"] or "", direction, tuple(sorted(topics)), (file,) if file else ())


def build_connector_asset_specs(cluster: str, configs: Iterable[ConnectorConfig]) -> list[AssetSpec]:
    """External assets for connectors and all they read and write, joined into one graph.

    Args:
        cluster: Name of the Connect cluster, a part of the connectors' keys.
        configs: The connectors' configurations, each with its ``name``.
    """
    specs: dict[AssetKey, AssetSpec] = {}
    for config in configs:
        for spec in _specs_of(cluster, config):
            known = specs.get(spec.key)
            specs[spec.key] = spec if known is None else spec.replace_attributes(deps=_united(known, spec))
    return list(specs.values())


def _united(one: AssetSpec, other: AssetSpec) -> list[AssetKey]:
    return sorted({dep.asset_key for spec in (one, other) for dep in spec.deps})


def _specs_of(cluster: str, config: ConnectorConfig) -> Iterable[AssetSpec]:
    lineage = connector_lineage(config)
    key = connector_key(cluster, lineage.name)
    yield AssetSpec(
        key,
        deps=lineage.inputs,
        description=f"{lineage.direction.value.capitalize()} connector `{lineage.name}`.",
        metadata={"connector.class": config.get("connector.class")},
        group_name=GROUP_NAME,
        kinds={"kafka", "spark"},
    )
    feeders = [key] if lineage.direction is Direction.SOURCE else []
    yield from (_topic_spec(topic, feeders) for topic in lineage.topics)
    feeders = [key] if lineage.direction is Direction.SINK else []
    yield from (_file_spec(file, feeders) for file in lineage.files)


def _topic_spec(topic: str, deps: list[AssetKey]) -> AssetSpec:
    description = f"Kafka topic `{topic}`."
    return AssetSpec(topic_key(topic), deps=deps, description=description, group_name=GROUP_NAME, kinds={"kafka"})


def _file_spec(file: str, deps: list[AssetKey]) -> AssetSpec:
    path = Path(file).absolute()
    return AssetSpec(
        file_key(file),
        deps=deps,
        description=f"File `{path.name}`.",
        metadata={"dagster/uri": MetadataValue.text(path.as_uri())},
        group_name=GROUP_NAME,
        kinds={"file"},
    )

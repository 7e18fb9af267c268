"""Lineage of connectors: what a connector reads and writes, derived from its configuration.

Sources read a store and write topics; sinks read topics and write a store. Knows configurations alone, no worker:
topics that only the worker knows are passed in.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from connect_dagster.client.connector_classes import Config, SinkClass, SourceClass, SourceRoute, find_class, listed
from connect_dagster.client.datasets import KafkaConnectDatasetProps, KafkaConnectTopicProps
from connect_dagster.client.topic_routing import routed_topic
from connect_dagster.client.types import Direction

SINK_KEYS = frozenset({"topics", "topics.regex"})
DEAD_LETTER_KEY = "errors.deadletterqueue.topic.name"


@dataclass(frozen=True, slots=True)
class Route:
    """One way of records through a connector; an end that is not known is None."""

    source: KafkaConnectDatasetProps | None
    target: KafkaConnectDatasetProps | None


@dataclass(frozen=True, slots=True)
class ConnectorLineage:
    """A connector between what it reads and what it writes.

    Attributes:
        name: The connector's name.
        direction: Which way it moves records.
        system: Kind of the store beside Kafka; None when the connector's class is not known.
        routes: The ways of its records.
        dead_letter_topic: Topic for records that could not be processed; None when there is none.
    """

    name: str
    direction: Direction
    system: str | None
    routes: tuple[Route, ...]
    dead_letter_topic: str | None

    @property
    def inputs(self) -> tuple[KafkaConnectDatasetProps, ...]:
        """Datasets that the connector reads."""
        return tuple(dict.fromkeys(route.source for route in self.routes if route.source))

    @property
    def outputs(self) -> tuple[KafkaConnectDatasetProps, ...]:
        """Datasets that the connector writes; they get a materialisation when offsets advance."""
        return tuple(dict.fromkeys(route.target for route in self.routes if route.target))

    def located(
        self, bootstrap_servers: str | None, key_prefix: Iterable[str], kafka_cluster: str | None = None
    ) -> "ConnectorLineage":
        """Return the lineage with the brokers of its topics, and what the keys of its data begin with.

        Args:
            bootstrap_servers: Brokers of the workers' own cluster, when known.
            key_prefix: Prefix of the keys.
            kafka_cluster: Alias of the workers' own Kafka cluster. With it all topics are named by their clusters'
                aliases, which are the same for other workspaces: their keys have no prefix.
        """
        prefix = tuple(key_prefix)

        def place(end: KafkaConnectDatasetProps | None) -> KafkaConnectDatasetProps | None:
            if isinstance(end, KafkaConnectTopicProps):
                return placed_topic(end)
            return replace(end, key_prefix=prefix) if end else None

        def placed_topic(topic: KafkaConnectTopicProps) -> KafkaConnectTopicProps:
            placed = replace(topic, key_prefix=() if kafka_cluster else prefix)
            if topic.cluster is not None:
                return placed
            return replace(placed, cluster=kafka_cluster, bootstrap_servers=bootstrap_servers)

        return replace(self, routes=tuple(Route(place(route.source), place(route.target)) for route in self.routes))

    def topic(self, name: str) -> KafkaConnectTopicProps:
        """Return one of :attr:`topics`."""
        return next(end for end in self._own_topics if end.topic == name)

    @property
    def topics(self) -> tuple[str, ...]:
        """Return the topics on the workers' own cluster that it reads or writes, without that of dead letters."""
        return tuple(end.topic for end in self._own_topics)

    @property
    def _own_topics(self) -> tuple[KafkaConnectTopicProps, ...]:
        ends = self.outputs if self.direction is Direction.SOURCE else self.inputs
        return tuple(end for end in ends if isinstance(end, KafkaConnectTopicProps))


def connector_lineage(
    config: Config, active_topics: Iterable[str] = (), direction: Direction = Direction.UNKNOWN
) -> ConnectorLineage:
    """Read the lineage off a connector's configuration.

    Args:
        config: The connector's configuration, with its ``name``.
        active_topics: Topics the connector is known to have used, which the configuration may not show.
        direction: Direction that the worker reports, if it was asked.
    """
    kind = find_class(config)
    dead_letter_topic = config.get(DEAD_LETTER_KEY) or None
    active = set(active_topics) - {dead_letter_topic}
    if direction is Direction.UNKNOWN:
        direction = _direction_of(config, kind)
    routes = _sink_routes(config, kind, active) if direction is Direction.SINK else _source_routes(config, kind, active)
    system = kind.system(config) if kind else None
    return ConnectorLineage(config["name"] or "", direction, system, tuple(routes), dead_letter_topic)


def _direction_of(config: Config, kind: SourceClass | SinkClass | None) -> Direction:
    is_sink = isinstance(kind, SinkClass) or (kind is None and SINK_KEYS & config.keys())
    return Direction.SINK if is_sink else Direction.SOURCE


def _source_routes(config: Config, kind: SourceClass | SinkClass | None, active: Collection[str]) -> Iterable[Route]:
    known: list[SourceRoute] = []
    if isinstance(kind, SourceClass):
        active = {topic for topic in active if not kind.is_state(config, topic)}
        known = list(kind.routes(config, active))
    if kind is None and config.get("topic"):
        known.append((None, config["topic"] or ""))
    routed = [(source, routed_topic(config, topic)) for source, topic in known]
    yield from (Route(source, KafkaConnectTopicProps(topic) if topic else None) for source, topic in routed)
    for topic in sorted(set(active) - {topic for _, topic in routed}):
        yield Route(None, KafkaConnectTopicProps(topic))


def _sink_routes(config: Config, kind: SourceClass | SinkClass | None, active: Collection[str]) -> Iterable[Route]:
    for topic in sorted({*listed(config.get("topics")), *active}):
        source = KafkaConnectTopicProps(topic)
        routed = routed_topic(config, topic)
        landings = list(kind.landings(config, routed)) if isinstance(kind, SinkClass) and routed else []
        yield from (Route(source, landing) for landing in landings)
        if not landings:
            yield Route(source, None)

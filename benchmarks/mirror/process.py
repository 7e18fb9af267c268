"""The process of each contestant that mirrors a topic, and its mm2.properties."""

from collections.abc import Mapping
from pathlib import Path

from benchmarks.contestants import Contestant, Process, Properties
from connect_dagster.connectors.mirror.flow import Flow
from tests.conformance.java_mirror_maker import JavaMirrorMaker
from tests.integration.mirror.dedicated import DedicatedProcess

# Each cluster has one broker.
_ONE_REPLICA = dict.fromkeys(
    (
        "replication.factor",
        "checkpoints.topic.replication.factor",
        "heartbeats.topic.replication.factor",
        "offset-syncs.topic.replication.factor",
        "config.storage.replication.factor",
        "offset.storage.replication.factor",
        "status.storage.replication.factor",
    ),
    "1",
)


def mirror_maker(contestant: Contestant, flow: Flow, props: Properties, folder: Path) -> Process:
    """Return a process that runs the worker on a flow's target.

    Args:
        contestant: whose process.
        flow: from the source to the target.
        props: of its file.
        folder: a new one, for its files.
    """
    if contestant.java is None:
        return DedicatedProcess(props, folder, [flow.target], jvm={})
    heap, options = contestant.java
    return JavaMirrorMaker(props, folder, [flow.target], heap=heap, jvm=options)


def flow_properties(
    contestant: Contestant, flow: Flow, brokers: Mapping[str, str], topic: str, tasks: int
) -> dict[str, str]:
    """Return the properties of a file that mirrors one topic.

    Args:
        contestant: whose process.
        flow: from the source to the target.
        brokers: of each cluster, by its alias.
        topic: the topic.
        tasks: most of them.
    """
    return {
        "clusters": f"{flow.source}, {flow.target}",
        **{f"{alias}.bootstrap.servers": servers for alias, servers in brokers.items()},
        f"{flow.prefix}enabled": "true",
        "topics": topic,
        "tasks.max": str(tasks),
        **_ONE_REPLICA,
        **client_properties(contestant, flow),
    }


def client_properties(contestant: Contestant, flow: Flow) -> dict[str, str]:
    """Return what a contestant's workers tell their clients, for those of a flow: consumers of the source, producers
    of the target.
    """
    aliases = {"consumer": flow.source, "producer": flow.target}
    return {
        f"{alias}.{name}": value
        for name, value in contestant.worker_props.items()
        if (alias := aliases.get(name.partition(".")[0])) is not None
    }

"""The kinds of faults as functions. Each returns when its fault is over: everything it took away is there again.

Some destroy records for good, such as those of a deleted topic. Before these, the flow is quiet until all written
records are in its topic, so that the lost ones are known: the sink is excused from these, and from no others.
"""

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from confluent_kafka import TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ResourceType,
)

from tests.campaign.flows import PARTITIONS, SINK, TOPIC, FileFlow, Flow
from tests.campaign.group import Member
from tests.campaign.schedule import Fault
from tests.campaign.stage import ADMIN_SECONDS, INTERNAL_TOPICS, Stage

_DRAIN_SECONDS = 120.0
_POLL_SECONDS = 0.2
_STATE_SECONDS = 90.0
_CHANGES = 3
_REWOUND_RECORDS = 1_000
_BLOCK = bytes(1 << 20)


class NotQuietError(Exception):
    """Raised when written records did not come to their topic, so that a fault could not begin."""


def play(stage: Stage, fault: Fault) -> None:
    """Play a fault.

    Raises:
        NotQuietError: records that were written before it did not come to their topic.
        TimeoutError: the workers did not accept a request of the fault.
    """
    PLAYS[fault.kind](stage, fault)


def _member(stage: Stage, fault: Fault) -> Member:
    return stage.group.members[fault.worker]


def _wait_until(condition: Callable[[], bool], seconds: float, late: Callable[[], Exception]) -> None:
    """Wait for a condition, at most for these seconds; raise what ``late`` makes after them."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise late()
        time.sleep(_POLL_SECONDS)


def _worker_kill(stage: Stage, fault: Fault) -> None:
    member = _member(stage, fault)
    member.kill()
    member.start()


def _worker_stop(stage: Stage, fault: Fault) -> None:
    member = _member(stage, fault)
    member.stop()
    time.sleep(fault.seconds)
    member.start()


def _worker_freeze(stage: Stage, fault: Fault) -> None:
    _member(stage, fault).freeze(fault.seconds)


def _jvm_kill(stage: Stage, fault: Fault) -> None:
    member = _member(stage, fault)
    if (pid := member.jvm()) is None:
        return
    os.kill(pid, 9)
    # Its connectors count as RUNNING until it has ended: the fault would be over before it is seen.
    late = f"worker {fault.worker} did not end within {_STATE_SECONDS:g} s after its JVM"
    _wait_until(lambda: not member.runs, _STATE_SECONDS, lambda: TimeoutError(late))


def _jvm_freeze(stage: Stage, fault: Fault) -> None:
    _member(stage, fault).freeze(fault.seconds, jvm=True)


def _broker_kill(stage: Stage, fault: Fault) -> None:
    stage.broker.kill()
    time.sleep(fault.seconds)
    stage.broker.start()


def _broker_restart(stage: Stage, fault: Fault) -> None:
    stage.broker.stop()
    time.sleep(fault.seconds)
    stage.broker.start()


def _broker_freeze(stage: Stage, fault: Fault) -> None:
    stage.broker.pause()
    time.sleep(fault.seconds)
    stage.broker.resume()


def _all_kill(stage: Stage, fault: Fault) -> None:
    """Kill all workers and the broker; start the workers first in half of all cases."""
    for member in stage.group.members:
        member.kill()
    stage.broker.kill()
    starts: list[Callable[[], object]] = [member.start for member in stage.group.members]
    starts.insert(0 if fault.chance < 0.5 else len(starts), stage.broker.start)
    for start in starts:
        start()
        time.sleep(fault.seconds / len(starts))


def _network_cut(stage: Stage, fault: Fault) -> None:
    assert stage.network is not None
    stage.network.cut()
    time.sleep(fault.seconds)
    stage.network.heal()


def _disk_full(stage: Stage, fault: Fault) -> None:
    filler = stage.disk / "filler"
    try:
        with filler.open("wb", buffering=0) as file, suppress(OSError):
            while file.write(_BLOCK):
                pass
        time.sleep(fault.seconds)
    finally:
        filler.unlink()


def _database_kill(stage: Stage, fault: Fault) -> None:
    assert stage.database is not None
    stage.database.kill()
    time.sleep(fault.seconds)
    stage.database.start()


def _topic_remade(stage: Stage, fault: Fault) -> None:
    flow, admin = stage.flow(fault.flow), stage.admin
    with _all_in_topic(flow):
        flow.ledger.excuse(SINK, flow.ledger.missing(SINK))
        admin.delete_topics([flow.topic])[flow.topic].result(ADMIN_SECONDS)
    time.sleep(fault.seconds)
    _make_topic(stage, flow)
    flow.tail.begin_again(PARTITIONS)


def _make_topic(stage: Stage, flow: Flow) -> None:
    """Make the topic of a flow, once its deletion is complete."""
    _wait_until(
        lambda: flow.topic not in stage.admin.list_topics(timeout=ADMIN_SECONDS).topics,
        ADMIN_SECONDS,
        lambda: TimeoutError(f"the brokers did not delete {flow.topic}"),
    )
    made = stage.admin.create_topics([NewTopic(flow.topic, PARTITIONS, 1)])
    made[flow.topic].result(ADMIN_SECONDS)


def _topic_grown(stage: Stage, fault: Fault) -> None:
    flow, admin = stage.flow(fault.flow), stage.admin
    count = len(admin.list_topics(flow.topic, timeout=ADMIN_SECONDS).topics[flow.topic].partitions)
    grown = admin.create_partitions([NewPartitions(flow.topic, count + 1)])
    grown[flow.topic].result(ADMIN_SECONDS)
    flow.tail.look_for_partitions(count + 1)


def _topic_truncated(stage: Stage, fault: Fault) -> None:
    """Delete all records of the topic, as retention does with old ones."""
    flow, admin = stage.flow(fault.flow), stage.admin
    with _all_in_topic(flow):
        flow.ledger.excuse(SINK, flow.ledger.missing(SINK))
        partitions = admin.list_topics(flow.topic, timeout=ADMIN_SECONDS).topics[flow.topic].partitions
        asked = {TopicPartition(flow.topic, number): OffsetSpec.latest() for number in partitions}  # type: ignore[no-untyped-call]
        ends = {place: found.result(ADMIN_SECONDS).offset for place, found in admin.list_offsets(asked).items()}
        doomed = [TopicPartition(place.topic, place.partition, end) for place, end in ends.items()]
        for deleted in admin.delete_records(doomed).values():
            deleted.result(ADMIN_SECONDS)


def _internal_topics_compacted(stage: Stage, fault: Fault) -> None:
    """Compact the internal topics, then have a worker read them."""
    settings = {"segment.ms": "1000", "min.cleanable.dirty.ratio": "0.01", "delete.retention.ms": "100"}
    entries = [
        ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET) for name, value in settings.items()
    ]
    asked = [ConfigResource(ResourceType.TOPIC, name, incremental_configs=entries) for name in INTERNAL_TOPICS]
    for altered in stage.admin.incremental_alter_configs(asked).values():
        altered.result(ADMIN_SECONDS)
    time.sleep(fault.seconds)
    _worker_kill(stage, fault)


def _file_rotated(stage: Stage, fault: Fault) -> None:
    _file_flow(stage, fault).rotate()


def _file_rotated_twice(stage: Stage, fault: Fault) -> None:
    flow = _file_flow(stage, fault)
    flow.rotate()
    time.sleep(fault.seconds)
    flow.rotate()


def _file_truncated(stage: Stage, fault: Fault) -> None:
    """Empty the file once all of it is in the topic; write nothing until a reader had time to see it."""
    flow = _file_flow(stage, fault)
    with _all_in_topic(flow):
        flow.truncate()
        time.sleep(fault.seconds)


def _file_rewritten(stage: Stage, fault: Fault) -> None:
    _file_flow(stage, fault).rewrite()


def _file_flow(stage: Stage, fault: Fault) -> FileFlow:
    flow = stage.flow(fault.flow)
    assert isinstance(flow, FileFlow)
    return flow


def _config_changed(stage: Stage, fault: Fault) -> None:
    flow = stage.flow(fault.flow)
    for _ in range(_CHANGES):
        stage.changes += 1
        for name, config in flow.changed(stage.changes).items():
            stage.group.ask("PUT", f"/connectors/{name}/config", config)
        time.sleep(fault.seconds / _CHANGES)


def _config_changed_in_rebalance(stage: Stage, fault: Fault) -> None:
    member = _member(stage, fault)
    member.stop()
    _config_changed(stage, fault)
    member.start()


def _paused(stage: Stage, fault: Fault) -> None:
    flow = stage.flow(fault.flow)
    try:
        for name in (flow.source, flow.sink):
            stage.group.ask("PUT", f"/connectors/{name}/pause")
        time.sleep(fault.seconds)
    finally:
        for name in (flow.source, flow.sink):
            stage.group.ask("PUT", f"/connectors/{name}/resume")


def _restarted(stage: Stage, fault: Fault) -> None:
    flow = stage.flow(fault.flow)
    for name in (flow.source, flow.sink):
        stage.group.ask("POST", f"/connectors/{name}/restart?includeTasks=true")


def _source_offsets_altered(stage: Stage, fault: Fault) -> None:
    """Move the source back by some records, or to the beginning; the duplicates are counted."""
    flow = stage.flow(fault.flow)
    with _stopped(stage, flow.source) as offsets:
        if fault.chance < 0.2:
            stage.group.ask("DELETE", f"/connectors/{flow.source}/offsets")
        elif offsets:
            altered = [{**one, "offset": flow.rewound(one["offset"], _REWOUND_RECORDS)} for one in offsets]
            stage.group.ask("PATCH", f"/connectors/{flow.source}/offsets", {"offsets": altered})


def _sink_offsets_altered(stage: Stage, fault: Fault) -> None:
    flow = stage.flow(fault.flow)
    with _stopped(stage, flow.sink) as offsets:
        if fault.chance < 0.2:
            stage.group.ask("DELETE", f"/connectors/{flow.sink}/offsets")
        elif offsets:
            altered = [{**one, "offset": _earlier(one["offset"])} for one in offsets]
            stage.group.ask("PATCH", f"/connectors/{flow.sink}/offsets", {"offsets": altered})


def _earlier(offset: Mapping[str, Any]) -> dict[str, int]:
    return {"kafka_offset": max(0, int(offset["kafka_offset"]) - _REWOUND_RECORDS)}


@contextmanager
def _stopped(stage: Stage, name: str) -> Iterator[list[dict[str, Any]]]:
    """Stop a connector, yield its offsets, and resume it."""
    stage.group.ask("PUT", f"/connectors/{name}/stop")
    try:
        _wait_until(
            lambda: [part["state"] for part in stage.group.parts().get(name, [])] == ["STOPPED"],
            _STATE_SECONDS,
            lambda: TimeoutError(f"{name} was not STOPPED within {_STATE_SECONDS:g} s"),
        )
        yield stage.group.ask("GET", f"/connectors/{name}/offsets")["offsets"]
    finally:
        stage.group.ask("PUT", f"/connectors/{name}/resume")


@contextmanager
def _all_in_topic(flow: Flow) -> Iterator[None]:
    """Pause the writer, with all written records in the topic."""
    with flow.quiet():
        _wait_until(
            lambda: not _not_in_topic(flow),
            _DRAIN_SECONDS,
            lambda: NotQuietError(f"{_not_in_topic(flow)} records of {flow.name} are not in the topic"),
        )
        yield


def _not_in_topic(flow: Flow) -> int:
    flow.look()
    return len(flow.ledger.missing(TOPIC))


PLAYS: Mapping[str, Callable[[Stage, Fault], None]] = {
    "worker-kill": _worker_kill,
    "worker-stop": _worker_stop,
    "worker-freeze": _worker_freeze,
    "jvm-kill": _jvm_kill,
    "jvm-freeze": _jvm_freeze,
    "broker-kill": _broker_kill,
    "broker-restart": _broker_restart,
    "broker-freeze": _broker_freeze,
    "all-kill": _all_kill,
    "network-cut": _network_cut,
    "disk-full": _disk_full,
    "database-kill": _database_kill,
    "topic-remade": _topic_remade,
    "topic-grown": _topic_grown,
    "topic-truncated": _topic_truncated,
    "internal-topics-compacted": _internal_topics_compacted,
    "file-rotated": _file_rotated,
    "file-rotated-twice": _file_rotated_twice,
    "file-truncated": _file_truncated,
    "file-rewritten": _file_rewritten,
    "config-changed": _config_changed,
    "config-changed-in-rebalance": _config_changed_in_rebalance,
    "paused": _paused,
    "restarted": _restarted,
    "source-offsets-altered": _source_offsets_altered,
    "sink-offsets-altered": _sink_offsets_altered,
}
"""The function of each kind."""

"""The pure parts of MirrorMaker beside Java's classes: names, bytes, syncs, translated offsets, assigned work."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from connect_dagster.connectors.mirror import filters, names
from connect_dagster.connectors.mirror.assignment import group_task_configs, partition_task_configs
from connect_dagster.connectors.mirror.offsets import (
    check_checkpoint_offsets,
    check_heartbeat_offsets,
    check_source_offsets,
    checkpoint_partition,
    heartbeat_partition,
    source_offset,
    source_partition,
)
from connect_dagster.connectors.mirror.records import Checkpoint, Heartbeat, OffsetSync
from connect_dagster.connectors.mirror.sync_state import PartitionState
from connect_dagster.connectors.mirror.translation import CommittedOffset, OffsetSyncStore, checkpoints_to_emit
from connect_dagster.errors import ConfigError, ConnectError
from connect_dagster.plugin.records import TopicPartition
from connect_dagster.protocol.wire import MalformedBytes
from tests.conformance.java_mirror import JavaMirror
from tests.golden_answers import Golden, digest

PACKAGE = "org.apache.kafka.connect.mirror"
ORDERS = TopicPartition("orders", 0)
RECORDS: tuple[type[OffsetSync | Checkpoint | Heartbeat], ...] = (OffsetSync, Checkpoint, Heartbeat)
Pairs = list[tuple[int, int]]


@pytest.fixture(scope="module")
def mirror() -> Iterator[JavaMirror]:
    with JavaMirror() as process:
        yield process


class Nothing(filters.TopicFilter):
    """A filter that accepts no topic."""

    def should_replicate_topic(self, topic: str) -> bool:
        return False


SEPARATORS = [None, ".", "-", "--", "__", "|", "\\E", "eu", ""]
PARTS = ["eu", "us", "orders", "heartbeats", "checkpoints", "internal", "mm2", "mm2-configs", "_", ".", "-", "--", "E"]


def test_the_same_names(golden: Golden, mirror: JavaMirror) -> None:
    cases = [_policy_case(random.Random(seed)) for seed in range(150)]
    java = golden.answer("policies", lambda: [digest(mirror.ask("policy", **case)) for case in cases])
    for case, answer in zip(cases, java, strict=True):
        assert digest(_policy_answer(case)) == answer, (case, _policy_answer(case))


def _policy_case(chance: random.Random) -> dict[str, Any]:
    separator = chance.choice(SEPARATORS)
    config = {
        names.SEPARATOR: separator,
        names.INTERNAL_SEPARATOR_ENABLED: chance.choice([None, "true", "false", "TRUE", " true"]),
        names.SOURCE_ALIAS: chance.choice([None, "eu", "us"]),
    }
    parts = [*PARTS, *[separator or "."] * 6]
    topics = ["".join(chance.choices(parts, k=chance.randint(1, 7))) for _ in range(60)]
    policy = chance.choice(["DefaultReplicationPolicy", "IdentityReplicationPolicy"])
    given = {key: value for key, value in config.items() if value is not None}
    return {"class": f"{PACKAGE}.{policy}", "config": given, "topics": topics}


def _policy_answer(case: dict[str, Any]) -> dict[str, Any]:
    policy = names.BUNDLED_POLICIES[case["class"]]()
    policy.configure(case["config"])
    mirrored = filters.topics_to_replicate(case["topics"], topic_filter=Nothing(), policy=policy, target_alias="us")
    return {
        "heartbeats": policy.heartbeats_topic(),
        "offset_syncs": policy.offset_syncs_topic("eu"),
        "checkpoints": policy.checkpoints_topic("eu"),
        "topics": [
            [
                policy.format_remote_topic("eu", topic),
                policy.topic_source(topic),
                policy.upstream_topic(topic),
                policy.original_topic(topic),
                names.checkpoint_topic(policy, topic, source_alias="eu", target_alias="us"),
                policy.is_heartbeats_topic(topic),
                policy.is_checkpoints_topic(topic),
                policy.is_mm2_internal_topic(topic),
                policy.is_internal_topic(topic),
                names.is_cycle(policy, topic, "us"),
                topic in mirrored,
            ]
            for topic in case["topics"]
        ],
    }


# Of the expressions that both engines know: the JVM's own is asked where there is one.
PATTERNS = [".*", "orders", "orders-.*", "(?i)pay.*", "[a-c&&[^b]]+", "a|b", "a.c", r"\p{L}+", r"\d+", "a++", "", "("]
NAMES = ["", "orders", "orders-1", "PAYMENTS", "pay", "a", "b", "ac", "abc", "a.c", "é", "42", "aaa", "a\nc", "a b"]
OPTIONS = {
    "DefaultTopicFilter": (filters.TOPICS, filters.TOPICS_EXCLUDE),
    "DefaultGroupFilter": (filters.GROUPS, filters.GROUPS_EXCLUDE),
    "DefaultConfigPropertyFilter": (filters.PROPERTIES_EXCLUDE,),
}


def test_the_same_filters(golden: Golden, mirror: JavaMirror) -> None:
    cases = [_filter_case(random.Random(seed)) for seed in range(200)]
    java = golden.answer("filters", lambda: [mirror.ask("filter", **case) for case in cases])
    for case, answer in zip(cases, java, strict=True):
        filtered = filters.BUNDLED_FILTERS[case["class"]]()
        try:
            filtered.configure(case["config"])
        except ConfigError:
            assert isinstance(answer, str), case
        else:
            assert filtered.accepted(case["names"]) == answer, case
    assert sum(isinstance(answer, str) for answer in java) < 100


def _filter_case(chance: random.Random) -> dict[str, Any]:
    kind = chance.choice(list(OPTIONS))
    defaults = [*NAMES, "mm2.x.internal", "x.replica", "__x", "connect-x", "console-consumer-1", "min.insync.replicas"]
    config = {
        option: chance.choice([",", ", "]).join(chance.choices(PATTERNS, k=chance.randint(0, 3)))
        for option in OPTIONS[kind]
        if chance.random() < 0.7
    }
    return {"class": f"{PACKAGE}.{kind}", "config": config, "names": defaults}


def test_the_same_bytes_and_texts(golden: Golden, mirror: JavaMirror) -> None:
    cases = [_record_case(random.Random(seed)) for seed in range(100)]
    java = golden.answer("written", lambda: [digest(mirror.ask("write", **case)) for case in cases])
    for case, answer in zip(cases, java, strict=True):
        ours = [[one.key.hex(), one.value.hex(), str(one)] for one in _records(case)]
        assert digest(ours) == answer, (case, ours)


def test_the_same_is_read(golden: Golden, mirror: JavaMirror) -> None:
    cases = [case for seed in range(20) for case in _bytes_cases(random.Random(seed))]
    java = golden.answer("read", lambda: [mirror.ask("read", **case) for case in cases])
    for case, answer in zip(cases, java, strict=True):
        kind = next(kind for kind in RECORDS if kind.__name__ == case["kind"])
        try:
            ours = str(kind.decode(bytes.fromhex(case["key"]), bytes.fromhex(case["value"])))
        except MalformedBytes:
            assert answer is None, case
        else:
            assert ours == answer, case


def _record_case(chance: random.Random) -> dict[str, Any]:
    topic, text = ("".join(chance.choices("aZ.-_0é키😀 ", k=chance.randint(0, 9))) for _ in range(2))
    return {
        "partition": [topic, chance.choice([0, 3, (1 << 31) - 1, -1])],
        "upstream": chance.choice([0, 1000, (1 << 63) - 1, -1]),
        "downstream": chance.randrange(1 << 63),
        "text": text,
    }


def _records(case: dict[str, Any]) -> list[OffsetSync | Checkpoint | Heartbeat]:
    partition, upstream, downstream = TopicPartition(*case["partition"]), case["upstream"], case["downstream"]
    return [
        OffsetSync(partition, upstream, downstream),
        Checkpoint(case["text"], partition, upstream, downstream, case["text"]),
        Heartbeat(partition.topic, case["text"], upstream),
    ]


def _bytes_cases(chance: random.Random) -> Iterator[dict[str, Any]]:
    """Yield keys and values that are cut, or longer than they need be, or have strings of a negative length."""
    for record in _records(_record_case(chance)):
        for key, value in [
            (record.key[: chance.randrange(len(record.key))], record.value),
            (record.key, record.value[: chance.randrange(len(record.value))]),
            (record.key + b"x", record.value + b"\0\0"),
            (b"\xff\xff" + record.key[2:], record.value),
        ]:
            yield {"kind": type(record).__name__, "key": key.hex(), "value": value.hex()}


def test_the_same_records_make_syncs(golden: Golden, mirror: JavaMirror) -> None:
    cases = [_delivery_case(random.Random(seed)) for seed in range(150)]
    java = golden.answer("due", lambda: [digest(mirror.ask("due", **case)) for case in cases])
    for case, answer in zip(cases, java, strict=True):
        state, due = PartitionState(case["lag_max"]), []
        for start in range(0, len(case["pairs"]), case["lag_max"] % 37 + 5):
            upstream, downstream = np.array(case["pairs"][start : start + case["lag_max"] % 37 + 5]).T
            batch = np.zeros(len(upstream), bool)
            batch[state.update(upstream, downstream)] = True
            due += batch.tolist()
        assert digest(due) == answer, case


def _delivery_case(chance: random.Random) -> dict[str, Any]:
    upstream, downstream, pairs = chance.randrange(5), chance.randrange(5), []
    for _ in range(chance.randint(1, 300)):
        pairs.append((upstream, downstream))
        upstream = max(0, upstream + chance.choice([1] * 30 + [2, 9, 0, -50]))
        downstream = max(0, downstream + chance.choice([1] * 30 + [2, 40, -100]))
    return {"lag_max": chance.choice([-1, 0, 1, 10, 100, 5_000]), "pairs": pairs}


def test_the_same_syncs_are_kept_and_translate_alike(golden: Golden, mirror: JavaMirror) -> None:
    cases = [_store_case(random.Random(seed)) for seed in range(400)]
    java = golden.answer("stores", lambda: [digest(mirror.ask("store", **case)) for case in cases])
    for case, answer in zip(cases, java, strict=True):
        store = OffsetSyncStore(must_read_to_end=case["must_read_to_end"])
        for pair in case["before"]:
            store.apply(OffsetSync(ORDERS, *pair))
        assert store.translate(ORDERS, 1) is None
        store.finish_first_read()
        states = [_state(store)]
        for pair in case["after"]:
            store.apply(OffsetSync(ORDERS, *pair))
            states.append(_state(store))
        ours = {"states": states, "translated": [store.translate(ORDERS, offset) for offset in case["offsets"]]}
        assert digest(ours) == answer, (case, ours)


def _store_case(chance: random.Random) -> dict[str, Any]:
    """Return syncs with steps of one size or of all sizes, seldom back, and offsets about them."""
    longest = chance.choice([1, 7, 10, 20, 40, 61])
    back = chance.choice([0, 0, 0.02])
    upstream, syncs = chance.choice([0, 0, 5, (1 << 63) - (1 << 20)]), []
    for _ in range(chance.randint(0, 200)):
        syncs.append((upstream, chance.randrange(1 << 40)))
        step = chance.choice([0, 1, 100, 101, chance.randrange(1 << chance.randint(1, longest))])
        upstream = chance.randint(0, upstream) if chance.random() < back else min(upstream + step, (1 << 63) - 1)
    before = chance.randint(0, len(syncs))
    near = [min(max(0, offset + chance.choice([-1, 0, 1])), (1 << 63) - 1) for offset, _ in syncs]
    return {
        "must_read_to_end": chance.random() < 0.3,
        "before": syncs[:before],
        "after": syncs[before:],
        "offsets": [*chance.choices(near or [0], k=30), (1 << 63) - 1, 0],
    }


def _state(store: OffsetSyncStore) -> list[tuple[int, int, int]]:
    """Return each kept sync with the first place that it has."""
    places = store.syncs(ORDERS)
    return [
        (place, sync.upstream_offset, sync.downstream_offset)
        for place, sync in enumerate(places)
        if place == 0 or sync is not places[place - 1]
    ]


def test_the_same_checkpoints(golden: Golden, mirror: JavaMirror) -> None:
    cases = [_checkpoint_case(random.Random(seed)) for seed in range(150)]
    java = golden.answer("checkpoints", lambda: [mirror.ask("checkpoints", **case) for case in cases])
    for case, answer in zip(cases, java, strict=True):
        store = OffsetSyncStore(must_read_to_end=False)
        for pair in case["syncs"]:
            store.apply(OffsetSync(ORDERS, *pair))
        store.finish_first_read()
        emitted = [Checkpoint("g", TopicPartition("eu.orders", one), *rest) for one, *rest in case["emitted"]]
        found = checkpoints_to_emit(
            "g",
            {
                TopicPartition("orders", number): None if offset is None else CommittedOffset(offset, metadata)
                for number, offset, metadata in case["committed"]
            },
            store=store,
            rename="eu.{}".format,
            emitted={one.topic_partition: one for one in emitted},
        )
        assert sorted(map(str, found)) == answer, case
    assert 20 < sum(map(bool, java)) < 130


def _checkpoint_case(chance: random.Random) -> dict[str, Any]:
    syncs = [(step * 10, step * 9) for step in range(chance.randint(0, 12))]
    return {
        "syncs": syncs,
        "committed": [(0, chance.choice([None, chance.randrange(120)]), "by hand"), (1, 7, ""), (2, None, "")],
        "emitted": [(number, chance.randrange(120), chance.randrange(110)) for number in range(chance.randint(0, 3))],
    }


def test_the_same_work_of_tasks(golden: Golden, mirror: JavaMirror) -> None:
    config = {"name": "flow", "connector.class": "Mirror", "source.cluster.alias": "eu"}
    cases: list[dict[str, Any]] = [
        {
            "config": config,
            "partitions": [[f"t-{number % 3}", number] for number in range(partitions)],
            "groups": [f"group {number}" for number in range(groups)],
            "max_tasks": max_tasks,
        }
        for partitions, groups, max_tasks in [(0, 0, 3), (1, 1, 1), (7, 7, 3), (8, 5, 4), (3, 2, 9), (40, 23, 6)]
    ]
    java = golden.answer("tasks", lambda: [mirror.ask("tasks", **case) for case in cases])
    for case, answer in zip(cases, java, strict=True):
        partitions = [TopicPartition(*one) for one in case["partitions"]]
        assert partition_task_configs(config, partitions, case["max_tasks"]) == answer["partitions"]
        assert group_task_configs(config, case["groups"], case["max_tasks"]) == answer["groups"]


def test_the_same_source_partitions(golden: Golden, mirror: JavaMirror) -> None:
    ours = [
        source_partition("eu", TopicPartition("orders", 3)),
        checkpoint_partition(Checkpoint("billing", TopicPartition("orders", 3), 1000, 990)),
        heartbeat_partition("eu", "us"),
        source_offset(1000),
    ]
    java = golden.answer("keys", lambda: mirror.ask("keys"))
    # The order counts: the offset topic compares bytes.
    assert [list(one.items()) for one in java] == [list(one.items()) for one in ours]


CHECKS = {
    "MirrorSourceConnector": (check_source_offsets, ("cluster", "topic", "partition")),
    "MirrorCheckpointConnector": (check_checkpoint_offsets, ("group", "topic", "partition")),
    "MirrorHeartbeatConnector": (check_heartbeat_offsets, ("sourceClusterAlias", "targetClusterAlias")),
}
NUMBERS: Sequence[Any] = [0, 0, 0, 3, -1, (1 << 31) - 1, 1 << 31, (1 << 63) - 1, 1 << 63, 1.5, 1e10, True, "3", None]


def test_the_same_offsets_are_refused(golden: Golden, mirror: JavaMirror) -> None:
    cases = [_alter_case(random.Random(seed)) for seed in range(300)]
    java = golden.answer("altered", lambda: [mirror.ask("alter", **case) for case in cases])
    for case, answer in zip(cases, java, strict=True):
        check, _ = CHECKS[case["class"].rpartition(".")[2]]
        try:
            ours: Any = check([tuple(entry) for entry in case["offsets"]])
        except ConnectError as error:
            ours = str(error)
        assert ours == answer, case
    assert 30 < sum(answer is True for answer in java) < 270


def _alter_case(chance: random.Random) -> dict[str, Any]:
    kind = chance.choice(list(CHECKS))
    partition: dict[str, Any] = {}
    for key in chance.sample(CHECKS[kind][1], len(CHECKS[kind][1])):
        if chance.random() < 0.95:
            partition[key] = chance.choice(NUMBERS[:5] if key == "partition" else ["eu", "eu", "eu", "us"])
        if chance.random() < 0.1:
            partition[key] = chance.choice([*NUMBERS, ["eu", {"a": None}], {}])
    offset = {"offset": chance.choice(NUMBERS)} if chance.random() < 0.9 else {"other": 1}
    entry = [None if chance.random() < 0.05 else partition, None if chance.random() < 0.05 else offset]
    return {"class": f"{PACKAGE}.{kind}", "offsets": [entry]}

"""Source partitions and offsets of the three connectors, and those that a user sets."""

from collections.abc import Callable
from typing import Any

import pytest

from connect_dagster.connectors.mirror.offsets import (
    NO_OFFSET,
    Entries,
    check_checkpoint_offsets,
    check_heartbeat_offsets,
    check_source_offsets,
    checkpoint_partition,
    heartbeat_partition,
    position,
    source_offset,
    source_partition,
)
from connect_dagster.connectors.mirror.records import Checkpoint
from connect_dagster.errors import ConnectError
from connect_dagster.java.hashes import hash_map_order
from connect_dagster.java.jackson import to_json
from connect_dagster.plugin.records import TopicPartition

Check = Callable[[Entries], bool]

ORDERS = {"cluster": "eu", "partition": 3, "topic": "orders"}
BILLING = {"partition": 3, "topic": "eu.orders", "group": "billing"}
FLOW = {"sourceClusterAlias": "eu", "targetClusterAlias": "us"}
CASES: dict[Check, dict[str, Any]] = {
    check_source_offsets: ORDERS,
    check_checkpoint_offsets: BILLING,
    check_heartbeat_offsets: FLOW,
}


def test_source_partitions_and_offsets() -> None:
    checkpoint = Checkpoint("billing", TopicPartition("eu.orders", 3), 1000, 990)
    assert to_json(source_partition("eu", TopicPartition("orders", 3))) == to_json(ORDERS)
    assert to_json(checkpoint_partition(checkpoint)) == to_json(BILLING)
    assert to_json(heartbeat_partition("eu", "us")) == to_json(FLOW)
    assert (source_offset(1000), NO_OFFSET) == ({"offset": 1000}, {"offset": 0})


@pytest.mark.parametrize("partition", CASES.values())
def test_the_keys_are_in_javas_order(partition: dict[str, Any]) -> None:
    assert list(partition) == hash_map_order(sorted(partition))


@pytest.mark.parametrize(
    ("stored", "found"),
    [
        (None, None),
        ({}, None),
        ({"offset": None}, None),
        ({"offset": -1}, None),
        ({"offset": 0}, 1),
        ({"offset": 9}, 10),
    ],
)
def test_a_task_goes_on_after_the_last_delivered_record(stored: dict[str, Any] | None, found: int | None) -> None:
    assert position(TopicPartition("orders", 3), stored) == found


@pytest.mark.parametrize("value", ["9", 9.0, True, 1 << 63])
def test_a_stored_offset_that_is_not_a_number(value: Any) -> None:
    with pytest.raises(ConnectError, match=r"^Stored offset \{offset=.*\} of orders-3 is not a position"):
        position(TopicPartition("orders", 3), {"offset": value})


@pytest.mark.parametrize(("check", "partition"), CASES.items())
def test_what_may_be_set(check: Check, partition: dict[str, Any]) -> None:
    anything_to_remove: Entries = [({"what": ["ever"]}, None), ({}, None), (None, None)]
    assert check(
        [*anything_to_remove, (partition, {"offset": 0}), ({**partition, "more": 1}, {"offset": 0, "more": 1})]
    )
    assert check([])


def test_what_may_be_set_of_partitions() -> None:
    largest = {"cluster": "eu", "partition": (1 << 31) - 1, "topic": "orders"}
    assert check_source_offsets([(largest, {"offset": (1 << 63) - 1}), ({**largest, "partition": 0}, {"offset": 5})])


_PLACE = "Source partition {cluster=eu, partition=3, topic=orders}"


@pytest.mark.parametrize(
    ("partition", "message"),
    [
        (None, "Source partitions may not be null"),
        ({}, "Source partition {} is missing the 'cluster' key, which is required"),
        (
            {"topic": "orders", "cluster": "eu"},
            "Source partition {topic=orders, cluster=eu} is missing the 'partition' key, which is required",
        ),
        (
            {**ORDERS, "cluster": None},
            "Source partition {cluster=null, partition=3, topic=orders} has an invalid value null for the 'cluster' "
            "key, which must be a string",
        ),
        (
            {**ORDERS, "topic": [1.0, {"a": True}]},
            "Source partition {cluster=eu, partition=3, topic=[1.0, {a=true}]} has an invalid value [1.0, {a=true}] "
            "for the 'topic' key, which must be a string",
        ),
        *(
            (
                {**ORDERS, "partition": value},
                f"Source partition {{cluster=eu, partition={shown}, topic=orders}} has an invalid value {shown} for "
                f"the 'partition' key, which {rule}",
            )
            for value, shown, rule in [
                ("3", "3", "must be an integer"),
                (3.0, "3.0", "must be an integer"),
                (1e10, "1.0E10", "must be an integer"),
                (True, "true", "must be an integer"),
                (None, "null", "must be an integer"),
                (1 << 31, "2147483648", "must be an integer"),
                (-1, "-1", "cannot be negative"),
            ]
        ),
    ],
)
def test_partitions_that_are_refused(partition: dict[str, Any] | None, message: str) -> None:
    with pytest.raises(ConnectError) as caught:
        check_source_offsets([(ORDERS, {"offset": 1}), (partition, {"offset": 0})])
    assert str(caught.value) == message


@pytest.mark.parametrize(("check", "partition"), CASES.items())
def test_a_missing_key_is_named(check: Check, partition: dict[str, Any]) -> None:
    for key in partition:
        others = {name: value for name, value in partition.items() if name != key}
        with pytest.raises(ConnectError, match=f"is missing the '{key}' key, which is required$"):
            check([(others, {"offset": 0})])


@pytest.mark.parametrize(
    ("check", "offset", "rule"),
    [
        (check_source_offsets, {}, " is missing the 'offset' key, which is required"),
        (
            check_source_offsets,
            {"offset": "1"},
            " has an invalid value 1 for the 'offset' key, which must be an integer",
        ),
        (
            check_source_offsets,
            {"offset": 1 << 63},
            " has an invalid value 9223372036854775808 for the 'offset' key, which must be an integer",
        ),
        (
            check_source_offsets,
            {"offset": -1},
            " has an invalid value -1 for the 'offset' key, which cannot be negative",
        ),
        *(
            (
                check,
                {"offset": value},
                f" has an invalid value {value} for the 'offset' key; the only accepted value is 0",
            )
            for check in (check_checkpoint_offsets, check_heartbeat_offsets)
            for value in (1, -1)
        ),
    ],
)
def test_offsets_that_are_refused(check: Check, offset: dict[str, Any], rule: str) -> None:
    partition = CASES[check]
    shown = "{" + ", ".join(f"{key}={value}" for key, value in partition.items()) + "}"
    given = "{" + ", ".join(f"{key}={value}" for key, value in offset.items()) + "}"
    with pytest.raises(ConnectError) as caught:
        check([(partition, offset)])
    assert str(caught.value) == f"Source offset {given} for source partition {shown}{rule}"

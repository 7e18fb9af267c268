"""What checks make of readings of a flow, without clusters or runs."""

from dataclasses import replace

import dagster as dg
import pytest
from dagster import AssetCheckSeverity

from connect_dagster.client.mirror_names import MirrorNames
from connect_dagster.connectors.mirror.clusters import Alteration, TopicSetting
from connect_dagster.kafka.errors import BrokersError
from connect_dagster.orchestration import KafkaConnectWorkspace
from connect_dagster.orchestration.checks.connector_checks import CheckOutcome
from connect_dagster.orchestration.checks.mirror import (
    build_mirror_heartbeat_checks,
    build_mirror_lag_checks,
    different_settings,
    drift_outcome,
    heartbeat_ages,
    heartbeat_outcome,
    heartbeat_routes,
    mirror_lag_outcome,
    of_brokers,
)
from connect_dagster.orchestration.checks.mirror_failover import failover_outcome
from connect_dagster.orchestration.checks.mirror_matches import build_mirror_matches_checks, matches_outcome
from connect_dagster.orchestration.observations.checkpoints import readiness
from connect_dagster.orchestration.observations.mirrored_records import ComparedRecord, Distances
from tests.unit.orchestration.observations.test_checkpoints import BILLING
from tests.unit.orchestration.observations.test_checkpoints import NOW as BILLED
from tests.unit.orchestration.observations.test_mirror import NAMES, READING, snapshot

EU = KafkaConnectWorkspace(kafka_cluster="eu", bootstrap_servers="eu:9092")


@pytest.mark.parametrize(("bound", "passed"), [(17, False), (18, True)])
def test_the_lag_of_all_mirrored_topics_is_bounded(bound: int, passed: bool) -> None:
    outcome = mirror_lag_outcome(snapshot(), ["orders", "payments"], bound)
    assert (outcome.passed, outcome.description) == (
        passed,
        f"18 records are beyond the committed positions; {bound} are allowed",
    )
    assert (outcome.metadata["records_lag_total"], outcome.metadata["max_lag"]) == (18, bound)


def test_a_lag_that_nobody_told_is_a_warning() -> None:
    outcome = mirror_lag_outcome(snapshot(replace(READING, source_bounds=None)), ["orders"], 1000)
    assert (outcome.passed, outcome.severity) == (False, AssetCheckSeverity.WARN)


def test_no_topic_at_all_is_a_warning() -> None:
    outcome = mirror_lag_outcome(snapshot(), [], 1000)
    assert (outcome.passed, outcome.severity) == (False, AssetCheckSeverity.WARN)
    assert outcome.description == "No topic of 'eu' is mirrored: is the connector's filter right?"


def test_another_connector_has_no_lag_of_mirroring() -> None:
    assert mirror_lag_outcome(snapshot(None), [], 1000).description == "It is not MirrorMaker's source connector"


def test_heartbeats_that_came_over_the_source_are_looked_at_with_their_way() -> None:
    topics = ["heartbeats", "eu.heartbeats", "eu.asia.heartbeats", "africa.heartbeats", "eu.orders"]
    assert heartbeat_routes(NAMES, topics) == {"eu.heartbeats": ("eu",), "eu.asia.heartbeats": ("eu", "asia")}


def test_heartbeats_of_the_identity_policy_have_a_way_too() -> None:
    policy = {"replication.policy.class": "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"}
    names = MirrorNames.of({"source.cluster.alias": "eu", "target.cluster.alias": "us", **policy})
    assert heartbeat_routes(names, ["heartbeats", "eu.heartbeats", "orders"]) == {"eu.heartbeats": ("eu",)}


def test_the_newest_heartbeat_of_all_partitions_counts() -> None:
    newest = {("eu.heartbeats", 0): 90.0, ("eu.heartbeats", 1): 40.0, ("eu.asia.heartbeats", 0): 101.0}
    ages = heartbeat_ages({"eu.heartbeats": ("eu",), "eu.asia.heartbeats": ("eu", "asia")}, newest, 100.0)
    assert ages == {("eu",): 10.0, ("eu", "asia"): 0.0}


@pytest.mark.parametrize(
    ("direct", "far", "passed", "description"),
    [
        (2.0, 3.0, True, "The newest heartbeat of 'eu' is 2.0 s old"),
        (90.0, 91.0, False, "Heartbeats are late from eu to us; 60 s are allowed"),
        (
            2.0,
            91.0,
            False,
            "Heartbeats are late from asia to eu; 60 s are allowed. Of a cluster that is gone delete the topics with "
            "its heartbeats in all others",
        ),
    ],
)
def test_the_hop_that_is_late_is_named(direct: float, far: float, passed: bool, description: str) -> None:
    outcome = heartbeat_outcome(NAMES, {("eu",): direct, ("eu", "asia"): far}, 60)
    assert (outcome.passed, outcome.description) == (passed, description)
    assert outcome.metadata["heartbeat_age_seconds"] == direct
    ways = [record.data["way"] for record in outcome.metadata["heartbeats"].records]
    assert ways == ["eu->us", "asia->eu->us"]


def test_heartbeats_that_never_came_fail() -> None:
    outcome = heartbeat_outcome(NAMES, {("eu", "asia"): 1.0}, 60)
    assert not outcome.passed
    assert outcome.description.startswith("No heartbeat of 'eu' has arrived")


def setting(name: str, value: str | None, *, is_own: bool = True) -> TopicSetting:
    return TopicSetting(name, value, is_default=False, is_copied=True, is_own=is_own)


def test_settings_that_mirrormaker_would_change_are_different() -> None:
    wanted = [Alteration("retention.ms", "1000"), Alteration("cleanup.policy", None), Alteration("new.in.source", "1")]
    # The value of the target's brokers, which MirrorMaker does not change.
    same = [setting("retention.ms", "1000"), setting("cleanup.policy", "compact", is_own=False)]
    other = [setting("retention.ms", "2000"), setting("cleanup.policy", "compact"), setting("segment.ms", "1")]
    assert different_settings(wanted, same) == {}
    assert different_settings(wanted, other) == {"retention.ms": ("1000", "2000"), "cleanup.policy": (None, "compact")}


def test_different_settings_fail_with_a_table() -> None:
    assert drift_outcome({"eu.orders": {}, "eu.payments": {}}).passed
    nothing = drift_outcome({})
    assert (nothing.passed, nothing.severity) == (False, AssetCheckSeverity.WARN)
    outcome = drift_outcome({"eu.orders": {"cleanup.policy": (None, "compact")}, "eu.payments": {}})
    assert (outcome.passed, outcome.description) == (False, "1 settings differ, of eu.orders")
    (row,) = outcome.metadata["settings"].records
    assert row.data == {"topic": "eu.orders", "setting": "cleanup.policy", "wanted": "default", "found": "compact"}


def test_groups_are_ready_or_named_with_the_reason() -> None:
    late = replace(BILLING, group="audit", emitted_at=BILLED - 900)
    judged = readiness([BILLING, late], None, now=BILLED, max_age=300, max_lag=100)
    outcome = failover_outcome(judged)
    assert outcome.description == (
        "1 of 2 groups cannot go on in the target: 'audit': its newest checkpoint is 900 s old"
    )
    numbers = ("group_count", "groups_not_ready", "records_lag_total", "checkpoint_age_seconds")
    assert [outcome.metadata[name] for name in numbers] == [2, 1, 20, 900.0]
    rows = [record.data for record in outcome.metadata["groups"].records]
    assert [(row["group"], row["ready"]) for row in rows] == [("audit", False), ("billing", True)]


def test_only_the_groups_that_were_named_count() -> None:
    late = replace(BILLING, group="audit", emitted_at=BILLED - 900)
    assert failover_outcome(readiness([BILLING, late], ["billing"], now=BILLED, max_age=300, max_lag=100)).passed
    missing = failover_outcome(readiness([BILLING], ["reports"], now=BILLED, max_age=300, max_lag=100))
    assert missing.description == "1 of 1 groups cannot go on in the target: 'reports': it has no checkpoint"


def test_a_flow_without_any_group_is_not_ready() -> None:
    assert not failover_outcome([]).passed
    assert failover_outcome(readiness([BILLING], [], now=BILLED, max_age=300, max_lag=100)) == failover_outcome([])


def test_brokers_that_do_not_respond_are_a_warning() -> None:
    def asked() -> CheckOutcome:
        raise BrokersError("Topic 'eu.checkpoints.internal' does not exist.")

    outcome = of_brokers(asked)
    assert (outcome.passed, outcome.severity) == (False, AssetCheckSeverity.WARN)
    assert outcome.description == "It could not be checked: Topic 'eu.checkpoints.internal' does not exist."


def test_a_check_needs_the_brokers_it_asks() -> None:
    plain = KafkaConnectWorkspace(cluster="us")
    with pytest.raises(dg.DagsterInvalidDefinitionError, match="Checks of heartbeats ask the brokers"):
        build_mirror_heartbeat_checks(workspace=plain, connectors=["mirror"])
    with pytest.raises(dg.DagsterInvalidDefinitionError, match="needs kafka_cluster"):
        build_mirror_lag_checks(workspace=EU, source=plain, connectors=["mirror"], max_lag=1)


def compared(offset: int, difference: tuple[str, ...] | None) -> ComparedRecord:
    return ComparedRecord(("orders", 0), offset, offset - 1, difference)


def test_records_that_differ_fail_the_check_and_deleted_ones_do_not() -> None:
    equal, gone = compared(7, ()), compared(8, None)
    outcome = matches_outcome([equal, gone], Distances(10, 12), {})
    assert (outcome.passed, outcome.description) == (True, "1 records are equal in both clusters")
    assert outcome.metadata == {
        "records_compared": 1,
        "records_different": 0,
        "records_gone": 1,
        "records_missing": 0,
        "offsets_between_syncs_source": 10,
        "offsets_between_syncs_target": 12,
    }
    outcome = matches_outcome([equal, gone, compared(9, ("key", "value"))], Distances(10, 10), {})
    assert (outcome.passed, outcome.severity) == (False, AssetCheckSeverity.ERROR)
    assert outcome.description == (
        "1 of 2 records differ, the first one orders-0 at offset 9 and 8 in the target: key, value"
    )
    assert len(outcome.metadata["different_records"].records) == 1


def test_nothing_to_compare_is_a_warning() -> None:
    outcome = matches_outcome([compared(8, None)], Distances(0, 0), {})
    assert (outcome.passed, outcome.severity) == (False, AssetCheckSeverity.WARN)


def test_records_that_are_missing_between_two_syncs_fail_the_check() -> None:
    outcome = matches_outcome([compared(7, ())], Distances(100, 95), {("orders", 0): 4, ("orders", 2): 1})
    assert (outcome.passed, outcome.severity) == (False, AssetCheckSeverity.ERROR)
    assert outcome.description == "5 records between two offset syncs are not in the target, of orders-0, orders-2"
    assert outcome.metadata["records_missing"] == 5


def test_a_sample_has_a_record() -> None:
    with pytest.raises(dg.DagsterInvalidDefinitionError, match="sample_size is at least 1"):
        build_mirror_matches_checks(workspace=EU, source=EU, connectors=["mirror"], sample_size=0)

"""Checks of flows as runs evaluate them, on a served worker; the brokers are functions."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import dagster as dg
import pytest
from confluent_kafka import KafkaError, KafkaException
from dagster import AssetCheckEvaluation, AssetCheckSeverity, DagsterInstance

from connect_dagster.orchestration import (
    KafkaConnectWorkspace,
    build_mirror_failover_checks,
    build_mirror_lag_checks,
)
from connect_dagster.orchestration.assets.keys import connector_key
from connect_dagster.orchestration.checks import mirror, mirror_failover
from connect_dagster.orchestration.observations.checkpoints import TranslatedOffset
from connect_dagster.orchestration.observations.topic_offsets import Bounds, Partition
from tests.unit.orchestration.connect_server import ConnectServer, connect_server
from tests.unit.orchestration.observations.test_checkpoints import BILLING

EU = KafkaConnectWorkspace(kafka_cluster="eu", bootstrap_servers="eu:9092")
ASIA = KafkaConnectWorkspace(kafka_cluster="asia", bootstrap_servers="asia:9092")


@pytest.fixture(name="server")
def server_fixture() -> Iterator[ConnectServer]:
    with connect_server(bootstrap_servers="us:9092", kafka_cluster="us") as server:
        yield server


@pytest.fixture(autouse=True)
def brokers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Topics with ten records each, of which no record has arrived; one group with a checkpoint, one without."""
    monkeypatch.setattr(mirror, "fetch_topic_bounds", ten_records)
    monkeypatch.setattr(mirror, "fetch_mirrored_topics", lambda *_: ["orders", "payments"])
    monkeypatch.setattr(mirror_failover, "fetch_translated_offsets", lambda *_: [BILLING])
    monkeypatch.setattr(mirror_failover, "with_committed", at_rest)
    monkeypatch.setattr(mirror_failover, "fetch_translated_groups", lambda *_: ["audit", "billing", "local"])
    monkeypatch.setattr("connect_dagster.orchestration.observations.poll.fetch_topic_bounds", lambda *_: {})
    monkeypatch.setattr("connect_dagster.orchestration.observations.poll.fetch_newest_times", lambda *_: {})


def ten_records(_: object, topics: Sequence[str], timeout: float) -> dict[Partition, Bounds]:
    return {(topic, 0): Bounds(0, 10) for topic in topics}


def at_rest(
    offsets: Sequence[TranslatedOffset], *_: object, groups: Sequence[str], **__: object
) -> list[TranslatedOffset]:
    """One of the groups without a checkpoint has no offset of a mirrored topic."""
    without = [TranslatedOffset(group, "eu.orders", 0, committed=5) for group in groups if group == "audit"]
    return [replace(one, committed=one.upstream) for one in offsets] + without


def evaluated(checks: Sequence[dg.AssetChecksDefinition]) -> AssetCheckEvaluation:
    """The outcome of the only check."""
    defs = dg.Definitions(
        assets=[dg.AssetSpec(connector_key("local", "mirror"))],
        asset_checks=checks,
        jobs=[dg.define_asset_job("checks", selection=dg.AssetSelection.all_asset_checks())],
    )
    with DagsterInstance.ephemeral() as instance:
        result = defs.resolve_job_def("checks").execute_in_process(instance=instance)
    (found,) = result.get_asset_check_evaluations()
    return found


def test_topics_of_which_nothing_has_arrived_are_behind(server: ConnectServer, monkeypatch: pytest.MonkeyPatch) -> None:
    server.create("mirror", connector_class="MirrorSourceConnector", source_cluster_alias="eu", topics=".*")
    checks = build_mirror_lag_checks(workspace=server.workspace, source=EU, connectors=["mirror"], max_lag=19)
    outcome = evaluated(checks)
    assert (outcome.passed, outcome.description) == (
        False,
        "20 records are beyond the committed positions; 19 are allowed",
    )
    # A class of the user chooses them, and none was mirrored so far.
    monkeypatch.setattr(mirror, "fetch_mirrored_topics", lambda *_: None)
    outcome = evaluated(checks)
    assert (outcome.passed, outcome.severity) == (False, AssetCheckSeverity.WARN)


def test_groups_of_the_filter_without_a_checkpoint_are_not_ready(server: ConnectServer) -> None:
    server.create("mirror", connector_class="MirrorCheckpointConnector", source_cluster_alias="eu")
    workspace = server.workspace
    outcome = evaluated(build_mirror_failover_checks(workspace=workspace, source=EU, connectors=["mirror"]))
    assert outcome.description == "1 of 2 groups cannot go on in the target: 'audit': it has no checkpoint"
    chosen = build_mirror_failover_checks(workspace=workspace, source=EU, connectors=["mirror"], groups=["billing"])
    assert evaluated(chosen).passed
    alone = evaluated(build_mirror_failover_checks(workspace=workspace, connectors=["mirror"]))
    assert "its newest checkpoint is" in (alone.description or "")


def test_groups_are_judged_by_their_checkpoints_while_the_source_is_away(
    server: ConnectServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object, **__: object) -> list[TranslatedOffset]:
        raise KafkaException(KafkaError(KafkaError._TRANSPORT, "eu is away"))

    monkeypatch.setattr(mirror_failover, "with_committed", away)
    server.create("mirror", connector_class="MirrorCheckpointConnector", source_cluster_alias="eu")

    def outcome(max_age_seconds: float) -> AssetCheckEvaluation:
        return evaluated(
            build_mirror_failover_checks(
                workspace=server.workspace, source=EU, connectors=["mirror"], max_age_seconds=max_age_seconds
            )
        )

    ready, late = outcome(1e10), outcome(1.0)
    why = ", by the checkpoints alone, as the source cannot be asked: eu is away"
    assert (ready.passed, ready.severity) == (False, AssetCheckSeverity.WARN)
    assert ready.description == f"All 1 groups can go on in the target{why}"
    assert (late.passed, late.severity) == (False, AssetCheckSeverity.ERROR)
    assert (late.description or "").endswith(why)


@pytest.mark.parametrize("connector_class", ["MirrorSourceConnector", "MirrorCheckpointConnector"])
def test_another_source_than_the_connectors_is_named(server: ConnectServer, connector_class: str) -> None:
    server.create("mirror", connector_class=connector_class, source_cluster_alias="eu", topics="orders")
    checks = (
        build_mirror_lag_checks(workspace=server.workspace, source=ASIA, connectors=["mirror"], max_lag=0)
        if connector_class == "MirrorSourceConnector"
        else build_mirror_failover_checks(workspace=server.workspace, source=ASIA, connectors=["mirror"])
    )
    assert evaluated(checks).description == "It mirrors 'eu', and not asia"

"""The report of translated offsets, as a value and as a job's run."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import dagster as dg
import pytest
from confluent_kafka import KafkaError, KafkaException
from dagster import DagsterInstance

from connect_dagster.client.mirror_names import MirrorNames
from connect_dagster.kafka.access import Bootstrap
from connect_dagster.kafka.errors import BrokersError, MissingTopicError
from connect_dagster.orchestration import KafkaConnectWorkspace, build_mirror_failover_job
from connect_dagster.orchestration.observations.checkpoints import TranslatedOffset
from connect_dagster.orchestration.ops import mirror
from connect_dagster.orchestration.ops.mirror import checkpoint_flows, report_metadata
from tests.unit.orchestration.answers import SOURCE, connector
from tests.unit.orchestration.connect_server import ConnectServer, connect_server
from tests.unit.orchestration.observations.test_checkpoints import BILLING, NOW

CHECKPOINTS = {
    "name": "checkpoints",
    "connector.class": "MirrorCheckpointConnector",
    "source.cluster.alias": "eu",
    "target.cluster.alias": "us",
}
AUDIT = replace(BILLING, group="audit", committed=1005)


@pytest.fixture(name="server")
def server_fixture() -> Iterator[ConnectServer]:
    with connect_server(bootstrap_servers="us:9092", kafka_cluster="us") as server:
        server.create("checkpoints", connector_class="MirrorCheckpointConnector", source_cluster_alias="eu")
        yield server


def launch(
    workspace: KafkaConnectWorkspace, groups: list[str] | None = None, **options: Any
) -> dg.ExecuteInProcessResult:
    job = build_mirror_failover_job(workspace=workspace, **options)
    config = {"ops": {"mirror_failover_report_op": {"config": {"groups": groups or []}}}}
    with DagsterInstance.ephemeral() as instance:
        return job.execute_in_process(config, instance=instance, raise_on_error=False)


def failure(result: dg.ExecuteInProcessResult) -> str | None:
    """The sentence that a run failed with."""
    (event,) = result.get_step_failure_events()
    data = event.step_failure_data.user_failure_data
    return data.description if data else None


def reported(result: dg.ExecuteInProcessResult) -> dict[str, Any]:
    """The metadata of a run's report."""
    (output,) = (event for event in result.all_events if event.is_successful_output)
    return {name: value.value for name, value in output.step_output_data.metadata.items()}


def test_flows_are_those_of_checkpoint_connectors_each_once() -> None:
    asia = {**CHECKPOINTS, "name": "asia", "source.cluster.alias": "asia"}
    twice = {**CHECKPOINTS, "name": "twice"}
    connectors = [connector(config) for config in (CHECKPOINTS, SOURCE, twice, asia)]
    assert [names.flow for names in checkpoint_flows(connectors)] == ["asia->us", "eu->us"]
    assert [names.flow for names in checkpoint_flows(connectors, ["asia"])] == ["asia->us"]


def test_the_report_has_a_table_for_each_flow() -> None:
    without = TranslatedOffset("billing", "eu.orders", 1, committed=5)
    metadata = report_metadata({"eu->us": [BILLING, without, AUDIT], "asia->us": []}, [], NOW)
    assert (metadata["group_count"], metadata["partition_count"], metadata["records_lag_total"]) == (2, 3, 20)
    rows = [record.data for record in metadata["eu->us"].records]
    assert [row["group"] for row in rows] == ["audit", "billing", "billing"]
    unknown = ("upstream", "downstream", "end", "records", "age_seconds")
    assert rows[2] == {
        "group": "billing",
        "topic": "eu.orders",
        "partition": 1,
        "committed": 5,
        **dict.fromkeys(unknown),
    }
    assert rows[0] == {
        "group": "audit",
        "topic": "eu.orders",
        "partition": 0,
        "upstream": 1000,
        "committed": 1005,
        "downstream": 990,
        "end": 1000,
        "records": 10,
        "age_seconds": 30.0,
    }
    assert metadata["asia->us"].records == []


def test_the_report_of_chosen_groups_has_no_others() -> None:
    metadata = report_metadata({"eu->us": [BILLING, AUDIT]}, ["audit"], NOW)
    assert (metadata["group_count"], len(metadata["eu->us"].records)) == (1, 1)


def test_very_many_rows_are_cut_and_counted() -> None:
    many = [replace(BILLING, partition=number) for number in range(mirror.MOST_ROWS + 5)]
    metadata = report_metadata({"eu->us": many}, [], NOW)
    assert (len(metadata["eu->us"].records), metadata["eu->us more"]) == (mirror.MOST_ROWS, 5)


def test_a_run_reads_the_flows_of_the_cluster(server: ConnectServer, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str]] = []

    def fetch(target: Bootstrap, names: MirrorNames, timeout: float) -> list[TranslatedOffset]:
        asked.append((str(target), names.checkpoints))
        return [BILLING]

    monkeypatch.setattr(mirror, "fetch_translated_offsets", fetch)
    assert launch(server.workspace).success
    assert asked == [("us:9092", "eu.checkpoints.internal")]
    failed = launch(server.workspace, ["billing", "reports"])
    assert failure(failed) == "No flow has a checkpoint of 'reports'. There are those of: billing."


def test_the_report_is_made_while_the_source_is_lost(server: ConnectServer, monkeypatch: pytest.MonkeyPatch) -> None:
    source = KafkaConnectWorkspace(kafka_cluster="eu", bootstrap_servers="eu:9092")

    def lost(
        offsets: list[TranslatedOffset], names: MirrorNames, brokers: Bootstrap, *_: object, **__: object
    ) -> list[TranslatedOffset]:
        assert (offsets, str(brokers)) == ([BILLING], "eu:9092")
        raise KafkaException(KafkaError(KafkaError._TRANSPORT))

    monkeypatch.setattr(mirror, "fetch_translated_offsets", lambda *_: [BILLING])
    monkeypatch.setattr(mirror, "with_committed", lost)
    result = launch(server.workspace, source=source)
    (row,) = reported(result)["eu->target"].records
    assert (row.data["downstream"], row.data["committed"]) == (BILLING.downstream, None)
    monkeypatch.setattr(mirror, "with_committed", lambda *_, **__: [AUDIT])
    (row,) = reported(launch(server.workspace, source=source))["eu->target"].records
    assert row.data["committed"] == AUDIT.committed


def test_a_flow_without_checkpoints_does_not_keep_those_of_others_back(
    server: ConnectServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fetch(_: Bootstrap, names: MirrorNames, timeout: float) -> list[TranslatedOffset]:
        if names.source == "asia":
            raise MissingTopicError("Topic 'asia.checkpoints.internal' does not exist.")
        return [BILLING]

    monkeypatch.setattr(mirror, "fetch_translated_offsets", fetch)
    server.create("asia", connector_class="MirrorCheckpointConnector", source_cluster_alias="asia")
    metadata = reported(launch(server.workspace))
    assert [len(metadata[flow].records) for flow in ("eu->target", "asia->target")] == [1, 0]
    assert "asia->target" not in reported(launch(server.workspace, connectors=["checkpoints"]))
    assert failure(launch(server.workspace, connectors=["asia"])) == (
        "The checkpoints of asia->target cannot be read: Topic 'asia.checkpoints.internal' does not exist."
    )
    assert failure(launch(server.workspace, connectors=["nobody"])) == (
        "The cluster 'local' has no checkpoint connector of MirrorMaker among nobody."
    )


def test_a_topic_that_cannot_be_read_fails_the_run_with_a_sentence(
    server: ConnectServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fetch(*_: object) -> list[TranslatedOffset]:
        raise BrokersError("Topic 'eu.checkpoints.internal' does not exist.")

    monkeypatch.setattr(mirror, "fetch_translated_offsets", fetch)
    assert failure(launch(server.workspace)) == (
        "The checkpoints of eu->target cannot be read: Topic 'eu.checkpoints.internal' does not exist."
    )


def test_the_job_needs_brokers() -> None:
    with pytest.raises(dg.DagsterInvalidDefinitionError, match="give bootstrap_servers to the workspace 'local'"):
        build_mirror_failover_job(workspace=KafkaConnectWorkspace())

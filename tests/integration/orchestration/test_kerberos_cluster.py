"""Dagster beside brokers that take tickets of Kerberos only: sensor, checks and assets get in, or say why not."""

from collections.abc import Iterator

import dagster as dg
import pytest
from dagster import DagsterInstance

from connect_dagster.orchestration import (
    ConnectWorkerResource,
    KafkaConnectWorkspace,
    build_connector_lag_checks,
    build_kafka_connect_polling_sensor,
    build_kafka_topic_assets,
)
from connect_dagster.orchestration.assets.keys import connector_key, topic_key
from tests.distributed_process import DistributedProcess, group_properties
from tests.integration.kafka.test_kerberos_logins import TicketBroker, ticket_broker
from tests.integration.worker.secured_broker import for_all
from tests.integration.worker.test_oauth_brokers import STRINGS, add, lines
from tests.shipped_project import wait_until

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(600)]

SECONDS = 120
TOPIC, SOURCE, SINK = "lines", "source", "sink"


@pytest.fixture(scope="module")
def tickets(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TicketBroker]:
    with ticket_broker(tmp_path_factory.mktemp("tickets")) as made, pytest.MonkeyPatch.context() as environment:
        environment.setenv("KAFKA_OPTS", made.realm.jvm_options[0])
        environment.setenv("KRB5_CONFIG", "")
        yield made


@pytest.fixture(scope="module")
def worker(tickets: TicketBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DistributedProcess]:
    """A worker with a source and a sink around one topic, which have moved three lines."""
    folder = tmp_path_factory.mktemp("worker")
    props = group_properties(tickets.servers, "dagster-") | STRINGS | for_all(tickets.realm.login("connect"))
    read, written = folder / "in.txt", folder / "out.txt"
    read.write_text("one\ntwo\nthree\n")
    with DistributedProcess(props, folder) as made:
        add(made, SOURCE, connector_class="FileStreamSource", topic=TOPIC, file=str(read))
        made.wait_states(SOURCE, "RUNNING", "RUNNING", timeout=SECONDS)
        add(made, SINK, connector_class="FileStreamSink", topics=TOPIC, file=str(written))
        made.wait_until(lambda: lines(written) == 3, "write all lines", SECONDS)
        yield made


def workspace(worker: DistributedProcess, tickets: TicketBroker, login: dict[str, str]) -> KafkaConnectWorkspace:
    return KafkaConnectWorkspace(
        url=worker.rest_url, bootstrap_servers=tickets.servers, client_properties=login, poll_timeout=10
    )


def tick(workspace: KafkaConnectWorkspace, instance: DagsterInstance) -> dict[dg.AssetKey, dict[str, object]]:
    """Return the metadata of what a sensor observes, by asset."""
    sensor = build_kafka_connect_polling_sensor(workspace=workspace, event_interval_seconds=0)
    with dg.build_sensor_context(instance=instance) as context:
        result = sensor.evaluate_tick(context)
    events = [one for one in result.asset_events if not isinstance(one, dg.AssetCheckEvaluation)]
    return {one.asset_key: {name: entry.value for name, entry in one.metadata.items()} for one in events}


def worker_resource(workspace: KafkaConnectWorkspace, worker: DistributedProcess) -> ConnectWorkerResource:
    """Return the group of the running worker, as Dagster's assets of it ask for it."""
    return ConnectWorkerResource(
        workspace=workspace,
        bootstrap_servers=workspace.bootstrap_servers,
        group_id=worker.props["group.id"],
        config_storage_topic=worker.props["config.storage.topic"],
        properties=workspace.client_properties,
        request_timeout=5,
    )


def test_sensor_checks_and_assets_get_in(worker: DistributedProcess, tickets: TicketBroker) -> None:
    safe = workspace(worker, tickets, tickets.realm.login("connect"))
    with DagsterInstance.ephemeral() as instance:
        wait_until(
            lambda: tick(safe, instance)[connector_key("local", SINK)].get("records_lag_total") == 0,
            "see the sink without lag",
            SECONDS,
        )
        assert tick(safe, instance)[topic_key(TOPIC)]["end_offset_total"] == 3
        defs = dg.Definitions(
            assets=[build_kafka_topic_assets(workspace=safe, topics=[TOPIC])],
            asset_checks=build_connector_lag_checks(workspace=safe, connectors=[SINK], max_lag=1),
        )
        run = defs.resolve_implicit_global_asset_job_def().execute_in_process(instance=instance)
    (check,) = run.get_asset_check_evaluations()
    assert (check.passed, check.metadata["records_lag_total"].value) == (True, 0)
    (observed,) = run.get_asset_observation_events()
    metadata = observed.event_specific_data.asset_observation.metadata  # type: ignore[union-attr]
    assert metadata["end_offset_total"].value == 3
    assert {"size_bytes", "newest_record_age_seconds"} <= metadata.keys(), "asked by both libraries"
    group = worker_resource(safe, worker)
    assert len(group.members()) == 1
    assert {SOURCE, SINK} == set(group.configs().connectors)


@pytest.mark.parametrize(
    ("options", "settings", "text"),
    [
        ({"keyTab": "/no/file"}, {}, "The key table cannot be read: No such file or directory"),
        ({}, {"sasl.kerberos.service.name": "other"}, "Server other/localhost@EXAMPLE.TEST not found in Kerberos"),
    ],
    ids=["key table", "service"],
)
def test_a_wrong_login_is_one_sentence_wherever_it_is_met(
    worker: DistributedProcess,
    tickets: TicketBroker,
    options: dict[str, str],
    settings: dict[str, str],
    text: str,
    capfd: pytest.CaptureFixture[str],
) -> None:
    refused = workspace(worker, tickets, tickets.realm.login("connect", **options) | settings)
    with DagsterInstance.ephemeral() as instance:
        seen = tick(refused, instance)
        (warning,) = [line for line in capfd.readouterr().err.splitlines() if "WARNING" in line]
        assert "No end offsets and lag this time: " in warning
        assert text in warning
        assert "status" in seen[connector_key("local", SINK)], "the worker is asked all the same"

        defs = dg.Definitions(assets=[build_kafka_topic_assets(workspace=refused, topics=[TOPIC])])
        run = defs.resolve_implicit_global_asset_job_def().execute_in_process(instance=instance, raise_on_error=False)
        failure = run.failure_data_for_node(f"observe_local_{TOPIC}")
        assert failure is not None
        assert failure.user_failure_data is not None
        assert text in str(failure.user_failure_data.description)

        checks = build_connector_lag_checks(workspace=refused, connectors=[SINK], max_lag=1)
        job = dg.Definitions(asset_checks=checks).resolve_implicit_global_asset_job_def()
        (check,) = job.execute_in_process(instance=instance).get_asset_check_evaluations()
        assert (check.passed, check.severity) == (False, dg.AssetCheckSeverity.WARN)
    group = worker_resource(refused, worker)
    for ask in (group.configs, group.members):
        with pytest.raises(dg.Failure, match=text):
            ask()

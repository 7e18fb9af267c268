"""Credentials of a worker's REST API, in its address or beside it: no text and no page of Dagster's shows them."""

from collections.abc import Iterator

import dagster as dg
import pytest
from dagster import DagsterInstance, UrlMetadataValue

from connect_dagster.client.masking import MASK
from connect_dagster.orchestration.ops.jobs import build_kafka_connect_jobs
from connect_dagster.orchestration.workers.metadata import WorkerReport
from connect_dagster.orchestration.workers.process import WorkerProcess
from connect_dagster.orchestration.workers.resource import StandaloneConnectWorkerResource
from connect_dagster.orchestration.workspace import KafkaConnectWorkspace
from tests.unit.orchestration.connect_server import connect_server


@pytest.fixture(name="workspace")
def workspace_fixture() -> Iterator[KafkaConnectWorkspace]:
    """A worker that answers at an address with a password in it."""
    with connect_server() as server:
        server.create("lines")
        yield KafkaConnectWorkspace(url=server.workspace.url.replace("http://", "http://ann:kafka123@"))


def test_s3_03_the_failure_of_an_operation(workspace: KafkaConnectWorkspace) -> None:
    pause = next(job for job in build_kafka_connect_jobs(workspace=workspace) if job.name == "kafka_connect_pause")
    config = {"ops": {"kafka_connect_pause_op": {"config": {"connectors": ["other"]}}}}
    with DagsterInstance.ephemeral() as instance, pytest.raises(dg.Failure) as failure:
        pause.execute_in_process(run_config=config, instance=instance)
    assert f"http://ann:{MASK}@127.0.0.1" in str(failure.value.description)


def test_s3_03_the_address_in_the_report_of_a_worker(workspace: KafkaConnectWorkspace) -> None:
    process = WorkerProcess.spawn(["sleep", "60"])
    try:
        metadata = WorkerReport(workspace.get_client(), "127.0.0.1:8083").running(process)
    finally:
        process.stop(1.0)
    assert isinstance(metadata["rest_url"], UrlMetadataValue)
    assert str(metadata["rest_url"].url).startswith(f"http://ann:{MASK}@127.0.0.1")
    assert "kafka123" not in str(metadata)


def test_s3_03_the_failure_of_a_worker_whose_address_is_taken(workspace: KafkaConnectWorkspace) -> None:
    with pytest.raises(dg.Failure, match="Another worker responds at ") as failure:
        StandaloneConnectWorkerResource(workspace=workspace).start()
    assert "kafka123" not in str(failure.value.description)


@pytest.mark.parametrize("field", ["password", "headers"])
def test_the_page_of_the_resource_hides_them(field: str) -> None:
    schema = KafkaConnectWorkspace.to_config_schema().as_field().config_type
    assert schema.fields[field].is_secret  # type: ignore[attr-defined]

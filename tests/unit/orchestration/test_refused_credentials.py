"""What a user sees whose credentials the worker refuses: one sentence, wherever it is met, and no password."""

from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest
from dagster import DagsterInstance

from connect_dagster.orchestration.connectors.spec import KafkaConnectConnectorSpec
from connect_dagster.orchestration.ops.jobs import build_kafka_connect_jobs
from connect_dagster.orchestration.sensors.auto_restart import build_kafka_connect_auto_restart_sensor
from connect_dagster.orchestration.sensors.connector import build_connector_sensor
from connect_dagster.orchestration.workspace import KafkaConnectWorkspace
from connect_dagster.rest.basic_auth import ENTRY, EXTENSION
from tests.unit.orchestration.connect_server import CLASS, DrivenHerder
from tests.unit.rest.conftest import LOGIN_MODULE
from tests.unit.rest.serving import serving

LINES = KafkaConnectConnectorSpec("lines", CLASS, {"file": "/tmp/in.txt"})


@pytest.fixture(name="url")
def url_fixture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A worker that lets in `me` with the password `secret`."""
    users, login = tmp_path / "users.properties", tmp_path / "login.conf"
    users.write_text("me=secret\n")
    login.write_text(f'{ENTRY} {{\n  {LOGIN_MODULE} required\n  file="{users}";\n}};\n')
    monkeypatch.setenv("KAFKA_OPTS", f"-Djava.security.auth.login.config={login}")
    monkeypatch.setenv("CONNECT_PASSWORD", "secret")
    herder = DrivenHerder()
    herder.put_connector("lines", LINES.resolved_config(), allow_replace=False)
    with serving(herder, rest_extension_classes=EXTENSION) as server:
        yield f"http://127.0.0.1:{server.ports[0]}"


def workspace(url: str, password: str | None) -> KafkaConnectWorkspace:
    return KafkaConnectWorkspace(url=url, username="me", password=password)


def sentence(url: str) -> str:
    return f"{url} refuses the credentials (401): check username, password, token and headers"


def test_a_job_fails_with_it(url: str) -> None:
    jobs = build_kafka_connect_jobs(workspace=workspace(url, "guessed"), connectors=[LINES])
    with DagsterInstance.ephemeral() as instance:
        for job in (job for job in jobs if job.name.endswith(("apply", "pause"))):
            with pytest.raises(dg.Failure) as failure:
                job.execute_in_process(instance=instance)
            assert failure.value.description == sentence(url)


def test_a_sensor_skips_with_it(url: str) -> None:
    wrong = workspace(url, "guessed")
    jobs = build_kafka_connect_jobs(workspace=wrong, connectors=[LINES])
    sensors = (
        build_connector_sensor(workspace=wrong, spec=LINES, jobs=jobs),
        build_kafka_connect_auto_restart_sensor(workspace=wrong, jobs=jobs),
    )
    for sensor in sensors:
        with dg.build_sensor_context() as context:
            assert sensor.evaluate_tick(context).skip_message == sentence(url)


def test_a_password_of_the_environment_is_found_when_it_is_needed(url: str) -> None:
    right = workspace(url, dg.EnvVar("CONNECT_PASSWORD"))
    jobs = build_kafka_connect_jobs(workspace=right, connectors=[LINES])
    with DagsterInstance.ephemeral() as instance:
        assert next(job for job in jobs if job.name.endswith("pause")).execute_in_process(instance=instance).success
        with dg.build_sensor_context(instance=instance) as context:
            result = build_connector_sensor(workspace=right, spec=LINES, jobs=jobs).evaluate_tick(context)
    assert [request.job_name for request in result.run_requests or ()] == ["kafka_connect_apply"]

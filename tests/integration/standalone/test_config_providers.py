"""Placeholders in the files of a real worker and of its connectors: resolved for plugins, and for nobody else."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import Broker
from tests.integration.standalone.conftest import run_worker
from tests.integration.standalone.told_connector import PLUGINS, PROVIDERS, SECRET, Told
from tests.integration.worker_process import WorkerProcess, write_properties


@pytest.fixture(scope="module")
def worker(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    folder = tmp_path_factory.mktemp("providers")
    (folder / "mounted").mkdir()
    (folder / "mounted" / "schemas").write_text("false")
    (folder / "mounted" / "bootstrap").write_text(broker.bootstrap_servers)
    props = {
        **PROVIDERS,
        "plugin.path": str(PLUGINS),
        "bootstrap.servers": f"${{dir:{folder}/mounted:bootstrap}}",
        "value.converter.schemas.enable": f"${{dir:{folder}/mounted:schemas}}",
        "config.reload.interval.ms": "200",
    }
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("TOLD_USER", "from the environment")
        environment.setenv("TOLD_TASKS", "2")
        environment.setenv("UNTOLD", SECRET)
        with WorkerProcess(props, [], folder) as process:
            yield process


@pytest.fixture
def told(worker: WorkerProcess, topic_prefix: str, tmp_path: Path) -> Iterator[Told]:
    connector = Told(worker, f"{topic_prefix}c", tmp_path)
    connector.secrets.write_text(f"password={SECRET}\ncodec=lz4\n")
    yield connector
    connector.call("DELETE")
    assert SECRET not in worker.log()


def test_plugins_get_values_and_everyone_else_placeholders(told: Told) -> None:
    config = told.config(
        **{
            "user": "${env:TOLD_USER}",
            "password": told.secret("password"),
            "tasks.max": "${env:TOLD_TASKS}",
            "transforms": "t",
            "transforms.t.type": "told.ToldTransform",
            "transforms.t.journal": str(told.folder / "journal"),
            "transforms.t.password": f"<{told.secret('password')}>",
            # No codec of that name: the producer would refuse the placeholder.
            "producer.override.compression.type": told.secret("codec"),
        }
    )
    created = told.call("PUT", "/config", config)
    assert created.status == 201
    assert created.json["config"] == {**config, "name": told.name}
    told.wait_states("RUNNING", "RUNNING", "RUNNING")

    values = {"user": "from the environment", "password": SECRET}
    for who in ("connector", "task 0", "task 1"):
        told.wait_told(who, **values)
    told.wait_told("transform", password=f"<{SECRET}>")

    assert told.call("GET").json["config"] == {**config, "name": told.name}
    for task in told.call("GET", "/tasks").json:
        assert {name: task["config"][name] for name in config} == config
    assert SECRET not in json.dumps(told.worker.call("GET", "/connectors?expand=info&expand=status").json)


def test_values_that_no_provider_knows_stay(told: Told) -> None:
    stays = {"user": "${env:UNTOLD}", "password": told.secret("missing")}
    assert told.put(**stays).status == 201
    told.wait_told("connector", **stays)
    told.worker.wait_log("Config provider 'env' has no value for ${env:UNTOLD} in user, which stays as it is (")


def test_values_are_checked_in_place_of_their_placeholders(told: Told) -> None:
    def errors(**more: str) -> dict[str, list[str]]:
        target = "/connector-plugins/ToldConnector/config/validate"
        answer = told.worker.call("PUT", target, told.config(name="c", **more))
        values = [one["value"] for one in answer.json["configs"]]
        return {one["name"]: one["errors"] for one in values if one["errors"]}

    assert errors(**{"tasks.max": "${env:TOLD_TASKS}"}) == {}
    assert errors(**{"tasks.max": "${env:TOLD_USER}"}) == {
        "tasks.max": [
            "Invalid value ${env:TOLD_USER} for configuration tasks.max: Not a number of type INT",
            "Invalid value null for configuration tasks.max: Value must be non-null",
        ]
    }


def test_a_failing_provider_fails_what_needs_it_and_nothing_else(told: Told, topic_prefix: str) -> None:
    other = Told(told.worker, f"{topic_prefix}other", told.folder / "other")
    other.folder.mkdir()
    assert other.put(user="${env:TOLD_USER}").status == 201
    assert told.put(password=told.secret("password")).status == 201
    told.wait_states("RUNNING", "RUNNING")
    told.secrets.unlink()
    sentence = (
        f"Could not read properties from file {told.secrets}: No such file or directory, "
        f"for {told.secret('password')} in password"
    )

    refused = told.put(password=told.secret("password"), user="new")
    assert (refused.status, refused.json["message"]) == (500, sentence)
    assert told.call("GET", "/config").json.get("user") is None, "the connector goes on with the old one"
    told.call("POST", "/restart?includeTasks=true")
    status = told.wait_states("FAILED", "FAILED")
    for part in (status["connector"], status["tasks"][0]):
        first, second, *_ = part["trace"].splitlines()
        assert first == f"org.apache.kafka.common.config.ConfigException: {sentence}"
        assert second.startswith("Traceback ")
    other.wait_states("RUNNING", "RUNNING")
    assert other.call("POST", "/restart?includeTasks=true").status == 202
    other.wait_states("RUNNING", "RUNNING")
    other.call("DELETE")

    told.secrets.write_text("password=second\n")
    assert told.call("POST", "/restart?includeTasks=true&onlyFailed=true").status == 202
    told.wait_states("RUNNING", "RUNNING")
    told.wait_told("connector", password="second")
    told.wait_told("task 0", password="second")


def test_tasks_restart_when_the_secrets_of_the_old_configuration_are_gone(told: Told) -> None:
    """The idea of Kafka's ConnectWorkerIntegrationTest.testReconfigureConnectorWithFailingTaskConfigs."""
    assert told.put(password=told.secret("password")).status == 201
    told.wait_states("RUNNING", "RUNNING")
    told.secrets.unlink()
    assert told.put(password="plain").status == 200
    told.wait_told("task 0", password="plain")
    told.wait_states("RUNNING", "RUNNING")


def test_connector_and_tasks_restart_when_a_secret_was_rotated(told: Told) -> None:
    """At ce718d3 both went on with the old one, until a user restarted them."""
    folder = told.folder / "mounted-secret"
    folder.mkdir()
    (folder / "user").write_text("ann")
    both = {"password": told.secret("password"), "user": f"${{dir:{folder}:user}}"}
    assert told.put(**both).status == 201
    for who in ("connector", "task 0"):
        told.wait_told(who, password=SECRET, user="ann")
    (folder / "user").write_text("eve")
    for who in ("connector", "task 0"):
        told.wait_told(who, password=SECRET, user="eve")
    told.secrets.write_text("password=rotated\n")
    for who in ("connector", "task 0"):
        told.wait_told(who, password="rotated", user="eve")
    told.wait_states("RUNNING", "RUNNING")
    assert told.call("GET", "/config").json["password"] == told.secret("password")

    told.secrets.unlink()
    told.worker.wait_log(f"Cannot look for new values of {told.name}-0, which goes on with those that it has")
    told.wait_states("RUNNING", "RUNNING")


def test_a_connector_starts_anew_when_a_value_has_expired(told: Told) -> None:
    leased = told.folder / "leased.json"
    leased.write_text('{"password": "first"}')
    assert told.put(password=f"${{leased:{leased}:password}}").status == 201
    told.wait_told("connector", password="first")
    leased.write_text('{"password": "second"}')
    told.wait_told("connector", password="second")
    told.wait_told("task 0", password="second")
    told.worker.wait_log(f"Scheduling a restart of connector {told.name} in 500 ms (")
    leased.unlink()
    status = told.wait_states("FAILED", "RUNNING")
    assert status["connector"]["trace"].startswith(
        f"org.apache.kafka.common.config.ConfigException: The lease of {leased} has ended, for ${{leased:{leased}:"
    )


def test_offsets_are_edited_with_values(told: Told) -> None:
    assert told.put(password=told.secret("password")).status == 201
    told.wait_states("RUNNING", "RUNNING")
    assert told.call("PUT", "/stop").status == 204
    told.wait_states("STOPPED")
    offsets = {"offsets": [{"partition": {"p": 1}, "offset": {"o": 2}}]}
    assert told.call("PATCH", "/offsets", offsets).status == 200
    assert told.call("DELETE", "/offsets").status == 200
    edited = [one for one in told.journal() if one["who"] == "offsets"]
    assert [one["password"] for one in edited] == [SECRET, SECRET]


def test_providers_are_no_listed_plugins(worker: WorkerProcess) -> None:
    listed = worker.call("GET", "/connector-plugins?connectorsOnly=false").json
    assert [one for one in listed if "Provider" in one["class"]] == []
    assert any(one["class"] == "told.ToldTransform" for one in listed)
    answer = worker.call("GET", "/connector-plugins/FileConfigProvider/config")
    assert (answer.status, answer.json["message"]) == (
        400,
        "Invalid plugin class FileConfigProvider. Valid types are sink, source, converter, header_converter, "
        "transformation, predicate.",
    )


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (
            {"config.providers.file.class": "no.Such"},
            "Invalid value no.Such for configuration config.providers.file.class: Could not load config provider class "
            "or one of its dependencies: Failed to find any class that implements ConfigProvider",
        ),
        pytest.param(
            {"config.providers.file.param.allowed.paths": "/no/such"},
            "Config provider 'file' refuses config.providers.file.param.*: Invalid value [/no/such] for configuration "
            "allowed.paths: Path /no/such does not exist",
            marks=pytest.mark.nightly,
        ),
        pytest.param(
            {"ssl.key.password": "${file:/no/such.properties:key}"},
            "Could not read properties from file /no/such.properties: No such file or directory, for "
            "${file:/no/such.properties:key} in ssl.key.password",
            marks=pytest.mark.nightly,
        ),
    ],
)
def test_a_worker_whose_providers_cannot_be_does_not_start(
    worker_props: dict[str, str], tmp_path: Path, wrong: dict[str, str], sentence: str
) -> None:
    ended = run_worker(tmp_path, {**worker_props, **PROVIDERS, "plugin.path": str(PLUGINS), **wrong})
    assert ended.code == 2
    assert f"Stopping due to error: org.apache.kafka.common.config.ConfigException: {sentence}" in ended.log


@pytest.mark.nightly
def test_connector_files_may_hold_placeholders(broker: Broker, tmp_path: Path, topic_prefix: str) -> None:
    secrets = tmp_path / "secrets.properties"
    secrets.write_text(f"password={SECRET}\n")
    config = {"name": f"{topic_prefix}c", "connector.class": "told.ToldConnector", "journal": str(tmp_path / "journal")}
    file = write_properties(tmp_path / "c.properties", {**config, "password": f"${{file:{secrets}:password}}"})
    props = {**PROVIDERS, "plugin.path": str(PLUGINS), "bootstrap.servers": broker.bootstrap_servers}
    with WorkerProcess(props, [file], tmp_path / "worker") as process:
        process.wait_states(config["name"], "RUNNING", "RUNNING")
        told = Told(process, config["name"], tmp_path)
        told.wait_told("task 0", password=SECRET)
        assert SECRET not in process.log()

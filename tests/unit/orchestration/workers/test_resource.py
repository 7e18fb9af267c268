from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster_pyspark import LazyPySparkResource

from connect_dagster.orchestration import ConnectWorkerResource, KafkaConnectWorkspace, StandaloneConnectWorkerResource


def worker(**fields: Any) -> ConnectWorkerResource:
    return ConnectWorkerResource(workspace=KafkaConnectWorkspace(), **fields)


def test_fields_become_the_properties_of_a_worker() -> None:
    known = worker(
        bootstrap_servers="b:9092",
        listener="http://:8084",
        group_id="g",
        config_storage_topic="c",
        offset_storage_topic="o",
        status_storage_topic="s",
    ).effective_properties
    assert (
        known.items()
        >= {
            "bootstrap.servers": "b:9092",
            "listeners": "http://:8084",
            "group.id": "g",
            "config.storage.topic": "c",
            "offset.storage.topic": "o",
            "status.storage.topic": "s",
        }.items()
    )


def test_fields_win_over_properties_and_these_over_sparks_config_and_the_file(tmp_path: Path) -> None:
    file = tmp_path / "worker.properties"
    file.write_text("group.id=file\noffset.flush.interval.ms=1\nspark.driver.memory=1g\nspark.ui.enabled=true\n")
    known = worker(
        worker_properties=str(file),
        group_id="field",
        properties={"group.id": "map", "offset.flush.interval.ms": "2", "spark.ui.enabled": "false"},
        spark=LazyPySparkResource(spark_config={"spark.driver.memory": "2g", "spark.ui.enabled": "maybe"}),
    ).effective_properties
    assert known == {
        "group.id": "field",
        "offset.flush.interval.ms": "2",
        "spark.driver.memory": "2g",
        "spark.ui.enabled": "false",
    }


def test_secrets_come_from_the_environment_when_it_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    resource = worker(
        properties={"sasl.jaas.config": dg.EnvVar("JAAS_OF_WORKER")}, group_id=dg.EnvVar("GROUP_OF_WORKER")
    )
    monkeypatch.setenv("JAAS_OF_WORKER", "kafka123")
    monkeypatch.setenv("GROUP_OF_WORKER", "g")
    with resource.process_config_and_initialize_cm() as ready:
        assert ready.named("sasl.jaas.config") == "kafka123"
        assert ready.named("group.id") == "g"


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, "127.0.0.1:8083"),
        ({"listener": "http://:8084"}, "127.0.0.1:8084"),
        ({"listener": "http://node:8084,https://:8443"}, "node:8084"),
        ({"properties": {"rest.advertised.host.name": "public", "rest.advertised.port": "80"}}, "public:80"),
    ],
)
def test_the_worker_id_is_where_it_says_it_listens(fields: dict[str, Any], expected: str) -> None:
    assert worker(**fields).rest_worker_id == expected


def test_a_file_that_is_not_there_is_named_in_one_sentence() -> None:
    with pytest.raises(dg.Failure, match=r"^Cannot read none\.properties: No such file or directory"):
        worker(worker_properties="none.properties").start()


def test_a_worker_that_ends_at_once_fails_with_its_last_lines(tmp_path: Path) -> None:
    file = tmp_path / "worker.properties"
    file.write_text("")
    resource = StandaloneConnectWorkerResource(
        workspace=KafkaConnectWorkspace(url="http://127.0.0.1:9"),
        worker_properties=str(file),
        command=["sh", "-c", "echo 'password=kafka123 refused'; exit 3"],
    )
    with pytest.raises(dg.Failure, match="The worker ended before its REST API responded: exit code 3") as raised:
        resource.start()
    assert raised.value.metadata["last_lines"].value == "```\npassword=******** refused\n```"


def test_another_configuration_is_another_generation(tmp_path: Path) -> None:
    file = tmp_path / "worker.properties"
    file.write_text("a=1\n")
    first = worker(worker_properties=str(file))
    before = first.generation
    assert worker(worker_properties=str(file)).generation == before
    assert worker(worker_properties=str(file), group_id="g").generation != before
    file.write_text("a=2\n")
    assert first.generation != before

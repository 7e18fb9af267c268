from pathlib import Path

import dagster as dg
import pytest

from connect_dagster.orchestration.connectors.spec import KafkaConnectConnectorSpec
from connect_dagster.plugin.connector_file import DesiredState


def test_a_file_becomes_a_declaration(tmp_path: Path) -> None:
    file = tmp_path / "lines.json"
    file.write_text(
        '{"name": "lines", "config": {"connector.class": "FileStreamSource", "tasks.max": 2, "topic": "t"}, '
        '"initial_state": "paused"}'
    )
    spec = KafkaConnectConnectorSpec.from_file(file)
    assert spec == KafkaConnectConnectorSpec("lines", "FileStreamSource", {"topic": "t"}, 2, DesiredState.PAUSED)


def test_values_become_text_as_kafka_connect_spells_them() -> None:
    spec = KafkaConnectConnectorSpec("lines", "X", {"validate.non.null": True, "batch.size": 20, "gone": None})
    assert spec.resolved_config() == {
        "name": "lines",
        "connector.class": "X",
        "tasks.max": "1",
        "validate.non.null": "true",
        "batch.size": "20",
        "gone": None,
    }


def test_a_variable_is_read_when_the_configuration_goes_out(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = KafkaConnectConnectorSpec("lines", "X", {"password": dg.EnvVar("LINES_PASSWORD")})
    monkeypatch.setenv("LINES_PASSWORD", "kafka123")
    assert spec.declared_config()["password"] == "${env:LINES_PASSWORD}"
    assert spec.resolved_config()["password"] == "kafka123"


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        ({"connector.class": "X"}, "has no value for name"),
        ({"topic": "t"}, r"with the keys \['topic'\] has no value for name and connector.class"),
        ({"name": "a", "connector.class": "X", "tasks.max": "two"}, "tasks.max of connector 'a' must be a number, but"),
    ],
)
def test_what_is_missing_or_wrong_is_named(config: dict[str, str], sentence: str) -> None:
    with pytest.raises(dg.DagsterInvalidDefinitionError, match=sentence):
        KafkaConnectConnectorSpec.from_config(config)

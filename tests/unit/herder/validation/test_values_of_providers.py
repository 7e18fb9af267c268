"""Validation of configurations with placeholders: it checks what plugins get, and shows what was written."""

import json
from pathlib import Path
from typing import Any

import pytest

from connect_dagster.errors import BadRequestError, ConnectError
from connect_dagster.herder.validation.validator import Validator
from connect_dagster.isolation.config_transformer import ConfigTransformer
from connect_dagster.isolation.plugins import Plugins
from connect_dagster.plugin.config import ConfigDef, config_key
from connect_dagster.worker.config.worker import StandaloneConfig
from tests.unit.herder.validation.test_validator import HERE, Upper, errors, source

JSON = "org.apache.kafka.connect.json.JsonConverter"
SECRET = "s3cr3t"
PROPS = {
    "bootstrap.servers": "b:1",
    "key.converter": JSON,
    "value.converter": JSON,
    "offset.storage.file.filename": "/f",
    "config.providers": "file",
    "config.providers.file.class": "FileConfigProvider",
}


def _refuse(name: str, value: str) -> None:
    raise OSError(f"cannot reach {value}")


class FailingConfig(ConfigDef):
    url: str = config_key("url", validator=_refuse)


class Failing(Upper):
    """Fails while its options are checked."""

    config_def = FailingConfig


class Written:
    """A validator whose provider has a file of secrets."""

    def __init__(self, folder: Path, **worker: str) -> None:
        self.file = folder / "secrets.properties"
        self.file.write_text(f"password={SECRET}\npin=12x\nconverter={JSON}\nnumber=2\naliases={SECRET},other\n")
        plugins = Plugins(packages=[HERE, __name__])
        props = PROPS | {name.replace("_", "."): value for name, value in worker.items()}
        transformer = ConfigTransformer.of(props, plugins)
        self._validator = Validator(plugins, StandaloneConfig.parse(props, plugins.find_class), None, transformer)
        self.hidden = transformer.hidden

    def key(self, name: str) -> str:
        return f"${{file:{self.file}:{name}}}"

    def infos(self, config: dict[str, str | None]) -> dict[str, Any]:
        return self._validator.validate(config)

    def values(self, config: dict[str, str | None]) -> dict[str, str | None]:
        return {one["value"]["name"]: one["value"]["value"] for one in self.infos(config)["configs"]}

    def refusal(self, config: dict[str, str | None]) -> str:
        with pytest.raises(BadRequestError) as raised:
            self._validator.check(config)
        return str(raised.value)


@pytest.fixture
def written(tmp_path: Path) -> Written:
    return Written(tmp_path)


def test_r18_values_are_shown_as_they_were_written(written: Written) -> None:
    """At ce718d3 `topic` came back in clear: a client that may validate read all that the providers can."""
    config = source(topic=f" <{written.key('password')}> ", file=written.key("password"))
    infos = written.infos(config)
    assert SECRET not in json.dumps(infos)
    values = {one["value"]["name"]: one["value"]["value"] for one in infos["configs"]}
    assert (values["topic"], values["file"]) == (f"<{written.key('password')}>", written.key("password"))
    assert values["tasks.max"] == "1"


def test_values_are_checked_as_plugins_get_them(written: Written) -> None:
    config = source(key_converter=written.key("converter"), tasks_max=written.key("number"))
    assert errors(written.infos(config)) == {}
    values = written.values(config)
    assert (values["key.converter"], values["tasks.max"]) == (written.key("converter"), written.key("number"))
    assert values["key.converter.schemas.enable"] == "true"


@pytest.mark.parametrize("name", ["password", "pin"])
def test_errors_quote_placeholders(written: Written, name: str) -> None:
    config = source(tasks_max=written.key(name), transforms="a", transforms_a_type=f"{HERE}.Upper")
    config |= {"transforms.a.times": written.key(name), "producer.override.linger.ms": written.key(name)}
    found = errors(written.infos(config))
    refused = f"Invalid value {written.key(name)} for configuration"
    assert found["tasks.max"][0] == f"{refused} tasks.max: Not a number of type INT"
    assert found["transforms.a.times"][0] == f"{refused} transforms.a.times: Not a number of type INT"
    assert found["producer.override.linger.ms"] == [f"{refused} linger.ms: Not a number of type LONG"]
    assert f"{refused} tasks.max: Not a number of type INT" in written.refusal(config)


def test_recommended_values_are_those_of_the_written_configuration(written: Written) -> None:
    config = source(transforms="a", transforms_a_type=f"{HERE}.Upper", transforms_a_field=written.key("password"))
    times = next(one for one in written.infos(config)["configs"] if one["value"]["name"] == "transforms.a.times")
    assert times["value"]["recommended_values"] == ["times", written.key("password")]


@pytest.mark.parametrize("kind", ["transforms", "predicates"])
def test_names_of_keys_have_no_values(written: Written, kind: str) -> None:
    infos = written.infos({**source(), kind: written.key("aliases")})
    assert SECRET not in json.dumps(infos)
    assert f"{kind}.{written.key('aliases')}.type" in errors(infos)


def test_a_missing_or_unknown_class(written: Written) -> None:
    config = source(topic=written.key("password"))
    assert f"topic={written.key('password')}" in written.refusal({**config, "connector.class": None})
    refusal = written.refusal({**config, "connector.class": written.key("password")})
    assert f"which name matches {written.key('password')}, " in refusal
    infos = written.infos({**config, "connector.class": "FileStreamSource", "connector.plugin.version": "1.0"})
    assert SECRET not in json.dumps(infos)


def test_an_error_of_a_plugin_has_no_values(written: Written, caplog: pytest.LogCaptureFixture) -> None:
    """Failed: the reply and the log had the value, which the worker remembers of what it runs only."""
    config = source(transforms="a", transforms_a_type=f"{__name__}.Failing", transforms_a_url=written.key("password"))
    with pytest.raises(ConnectError) as raised:
        written.infos(config)
    assert str(raised.value) == f"cannot reach {written.key('password')}"
    assert raised.value.__suppress_context__
    assert "in _refuse" in caplog.text
    assert SECRET not in caplog.text


def test_a_validation_hides_nothing_elsewhere(written: Written) -> None:
    """Else a client could have words of its choice blotted out of the log."""
    written.infos(source(topic=written.key("password"), password="word-of-a-client"))
    assert written.hidden.in_error(f"{SECRET} word-of-a-client") == f"{SECRET} word-of-a-client"


def test_javas_response(tmp_path: Path) -> None:
    written = Written(tmp_path, validate_show_resolved="true")
    config = source(topic=written.key("password"), tasks_max=written.key("password"))
    assert written.values(config)["topic"] == SECRET
    assert errors(written.infos(config))["tasks.max"][0].startswith(f"Invalid value {SECRET} for configuration")

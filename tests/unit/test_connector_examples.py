"""Each connector that ships has an example in `examples/connectors`, the same in each of its four forms."""

import importlib.util
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
import yaml

from connect_dagster import ConnectorResource
from connect_dagster.herder.validation.validator import Validator
from connect_dagster.isolation.plugins import Plugins
from connect_dagster.orchestration import KafkaConnectConnectorSpec
from connect_dagster.orchestration.components import KafkaConnectConnectorComponent
from connect_dagster.plugin.connector import Connector
from connect_dagster.worker.config.worker import StandaloneConfig
from tests.unit.orchestration.components.sandbox import loaded

EXAMPLES = sorted((Path(__file__).parents[2] / "examples" / "connectors").iterdir())
WORKER = {
    "bootstrap.servers": "127.0.0.1:1",
    "key.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "offset.storage.file.filename": "/tmp/offsets",
}

each_example = pytest.mark.parametrize("folder", EXAMPLES, ids=lambda folder: folder.name)


def declared(folder: Path, form: str) -> dict[str, str | None]:
    """The whole configuration of an example's file of properties, or of JSON."""
    return KafkaConnectConnectorSpec.from_file(folder / f"{folder.name}.{form}").declared_config()


def in_python(folder: Path) -> tuple[ConnectorResource, dg.Definitions]:
    """The resource of an example in Python, and its definitions."""
    spec = importlib.util.spec_from_file_location(f"example_{folder.name}", folder / f"{folder.name}.py")
    assert spec is not None
    assert spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.connector, module.defs


@each_example
def test_the_four_forms_are_one_configuration(folder: Path) -> None:
    properties = declared(folder, "properties")
    assert declared(folder, "json") == properties
    resource, defs = in_python(folder)
    assert resource.spec().declared_config() == properties
    dg.Definitions.validate_loadable(defs)
    attributes = yaml.safe_load((folder / "defs.yaml").read_text())["attributes"]
    with loaded(KafkaConnectConnectorComponent, attributes) as (component, from_yaml):
        (connector,) = component.connectors
        assert connector.declared_config() == properties
        dg.Definitions.validate_loadable(from_yaml)


@each_example
def test_a_worker_finds_nothing_wrong_with_it(folder: Path) -> None:
    plugins = Plugins()
    validator = Validator(plugins, StandaloneConfig.parse(WORKER, plugins.find_class))
    infos = validator.validate(declared(folder, "properties"))
    wrong = {one["value"]["name"]: one["value"]["errors"] for one in infos["configs"] if one["value"]["errors"]}
    assert wrong == {}


def test_each_connector_has_an_example() -> None:
    shipped = {entry.name for entry in entry_points(group="connect_dagster.plugins") if _is_connector(entry.load())}
    shown = {str(declared(folder, "properties")["connector.class"]).rpartition(".")[2] for folder in EXAMPLES}
    assert len(shown) == len(EXAMPLES)
    assert shipped - shown == set()


def _is_connector(plugin: Any) -> bool:
    return isinstance(plugin, type) and issubclass(plugin, Connector)

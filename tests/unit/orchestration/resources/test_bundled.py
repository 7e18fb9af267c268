"""Typed resources: what the shipped ones are made of, and those a plugin author makes."""

import inspect
from pathlib import Path

import dagster as dg
import pytest

from connect_dagster.isolation.plugins import Kind, Plugins
from connect_dagster.orchestration.assets.keys import connector_key
from connect_dagster.orchestration.assets.metadata_sets import KafkaConnectMetadataSet
from connect_dagster.orchestration.definitions import build_connector_definitions
from connect_dagster.orchestration.resources import bundled as shipped
from connect_dagster.orchestration.resources.connector import ConnectorResource, secret_config_keys
from connect_dagster.orchestration.resources.resource_type import connector_resource_type, field_name
from connect_dagster.orchestration.workspace import KafkaConnectWorkspace
from connect_dagster.plugin.config import ConfigDef, Password, config_key
from docs.generate_resources import SHIPPED, resource_files, resource_types

WORKSPACE = KafkaConnectWorkspace()


class DiceConfig(ConfigDef):
    topic: str = config_key("topic", doc="Where rolls go.")
    sides: int = config_key("dice.sides", default=6, doc="Sides of a die.")
    colours: tuple[str, ...] = config_key("colours", default=("white", "red"), doc="One die each.")
    fair: bool = config_key("is-fair", default=True)
    bias: float = config_key("bias", default=0.5)
    pin: Password | None = config_key("dice.pin", default=None, doc="Opens the box.")
    state: str | None = config_key("state", default=None, doc="Of matter.")


DiceResource = connector_resource_type(DiceConfig, "games.DiceConnector", base=shipped.SourceConnectorResource)


def test_the_shipped_resources_are_those_of_the_configuration_definitions() -> None:
    folder = Path(inspect.getfile(shipped)).parent
    found = {name: (folder / name).read_text(encoding="utf-8") for name in resource_files()}
    assert found == resource_files(), "run make docs"


@pytest.mark.parametrize("name", [each.name for each in SHIPPED])
def test_the_shipped_resources_have_the_fields_of_their_plugins(name: str) -> None:
    shipped_type = getattr(shipped, name)
    written, made = shipped_type.model_fields, resource_types()[name].model_fields
    assert {field: (one.annotation, one.default, one.description) for field, one in written.items()} == {
        field: (one.annotation, one.default, one.description) for field, one in made.items()
    }
    assert secret_config_keys(shipped_type) == secret_config_keys(resource_types()[name])
    assert (shipped_type.__name__, shipped_type.__module__) == (name, shipped.__name__)


def test_every_connector_that_ships_has_a_resource() -> None:
    connectors = {plugin.class_name for plugin in Plugins().all((Kind.SOURCE, Kind.SINK))}
    assert {each.connector_class for each in SHIPPED if each.connector_class} == connectors


def test_a_resource_of_a_shipped_plugin_makes_its_configuration() -> None:
    sink = shipped.JdbcSinkResource(
        workspace=WORKSPACE,
        name="orders",
        topics=["orders"],
        connection_url="jdbc:postgresql://db/shop",
        connection_password=dg.EnvVar("SHOP_PASSWORD"),
        auto_create=True,
    )
    assert sink.spec().declared_config() == {
        "name": "orders",
        "connector.class": "io.confluent.connect.jdbc.JdbcSinkConnector",
        "tasks.max": "1",
        "topics": "orders",
        "connection.url": "jdbc:postgresql://db/shop",
        "connection.password": "${env:SHOP_PASSWORD}",
        "auto.create": "true",
    }


def test_a_field_has_the_type_and_the_text_of_its_key() -> None:
    fields = DiceResource.model_fields
    assert {name: fields[name].annotation for name in ("topic", "dice_sides", "colours", "is_fair", "bias")} == {
        "topic": str,
        "dice_sides": int | None,
        "colours": list[str] | None,
        "is_fair": bool | None,
        "bias": float | None,
    }
    assert fields["topic"].is_required()
    assert fields["dice_sides"].description == "Sides of a die. Default: 6."
    assert fields["colours"].description == "One die each. Default: white,red."
    assert (DiceResource.__name__, DiceResource.__doc__) == (
        "DiceResource",
        "A connector of class games.DiceConnector.",
    )


def test_a_password_is_secret_in_dagsters_own_forms() -> None:
    assert secret_config_keys(DiceResource) == {"dice.pin"}
    shown = DiceResource.to_config_schema().as_field().config_type.fields
    assert {name for name, field in shown.items() if field.is_secret} == {"config", "dice_pin"}


def test_the_fields_become_the_configuration_and_what_is_left_out_stays_out() -> None:
    dice = DiceResource(
        workspace=WORKSPACE,
        name="dice",
        topic="rolls",
        colours=["white", "blue"],
        is_fair=False,
        state_="solid",
        errors_tolerance="all",
        tasks_max=3,
        config={"transforms.mask.type": "MaskField"},
    )
    assert dice.spec().declared_config() == {
        "name": "dice",
        "connector.class": "games.DiceConnector",
        "tasks.max": "3",
        "topic": "rolls",
        "colours": "white,blue",
        "is-fair": "false",
        "state": "solid",
        "errors.tolerance": "all",
        "transforms.mask.type": "MaskField",
    }


def test_a_required_field_cannot_be_left_out() -> None:
    with pytest.raises(ValueError, match="topic"):
        DiceResource(workspace=WORKSPACE, name="dice")


def test_environment_variables_stay_unresolved(monkeypatch: pytest.MonkeyPatch) -> None:
    dice = DiceResource(
        workspace=WORKSPACE,
        name="dice",
        topic="rolls",
        dice_pin=dg.EnvVar("DICE_PIN"),
        dice_sides=dg.EnvVar.int("DICE_SIDES"),
        config={"box": dg.EnvVar("DICE_BOX")},
    )
    keys = ("dice.pin", "dice.sides", "box")
    assert [dice.spec().declared_config()[key] for key in keys] == [
        "${env:DICE_PIN}",
        "${env:DICE_SIDES}",
        "${env:DICE_BOX}",
    ]
    for name, value in (("DICE_PIN", "4711"), ("DICE_SIDES", "20"), ("DICE_BOX", "oak")):
        monkeypatch.setenv(name, value)
    assert [dice.spec().resolved_config()[key] for key in keys] == ["4711", "20", "oak"]
    with dice.process_config_and_initialize_cm() as ready:
        assert [ready.spec().resolved_config()[key] for key in keys] == ["4711", "20", "oak"]


def test_a_password_in_the_code_is_not_in_definitions() -> None:
    dice = DiceResource(workspace=WORKSPACE, name="dice", topic="rolls", dice_pin="4711")
    assert dice.spec().declared_config()["dice.pin"] == "********"
    assert dice.spec().resolved_config()["dice.pin"] == "4711"
    specs = {spec.key: spec for spec in build_connector_definitions(dice).resolve_all_asset_specs()}
    config = KafkaConnectMetadataSet.extract(specs[connector_key("local", "dice")].metadata).config
    assert config is not None
    assert isinstance(config.data, dict)
    assert config.data["dice.pin"] == "********"


def test_a_key_has_one_place() -> None:
    twice = shipped.FileStreamSourceResource(workspace=WORKSPACE, name="src", topic="a", config={"topic": "b"})
    with pytest.raises(dg.DagsterInvalidDefinitionError, match="'src' has topic twice: as a field and in config"):
        twice.spec()


@pytest.mark.parametrize(
    ("key", "field"),
    [("a.b-c", "a_b_c"), ("apply", "apply_"), ("model_config", "model_config_"), ("lambda", "lambda_"), ("_2nd", "nd")],
)
def test_a_field_is_a_name_that_is_free(key: str, field: str) -> None:
    assert field_name(key) == field
    assert not hasattr(ConnectorResource, field)

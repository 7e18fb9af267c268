"""Validation with plugins that are not bundled: what each of them may do wrong."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import pytest
from pyspark.sql import Column, DataFrame

from connect_dagster.errors import BadRequestError
from connect_dagster.herder.validation.validator import Validator
from connect_dagster.isolation.plugins import Plugins
from connect_dagster.plugin.config import ConfigDef, Importance, Recommender, at_least, config_key
from connect_dagster.plugin.converter import Converter, Decoder, Transform
from connect_dagster.plugin.frames import Frame
from connect_dagster.plugin.schema import Schema
from connect_dagster.worker.config.worker import StandaloneConfig

HERE = __name__
JSON = "org.apache.kafka.connect.json.JsonConverter"


class UpperConfig(ConfigDef):
    negate: bool = config_key("negate", default=True, doc="Hidden by the one of every transformation.")
    times: int = config_key(
        "times",
        default=1,
        importance=Importance.HIGH,
        validator=at_least(1),
        recommender=Recommender(lambda name, parsed: [name, parsed["field"]]),
        dependents=("field",),
    )
    field: str = config_key("field")


class Abstract(Converter):
    """Lacks its methods."""


class Plain(Converter):
    """Has no options."""

    def configure(self, config: Mapping[str, str], *, is_key: bool) -> None:
        raise AssertionError("validation configures nothing")

    def encode(self, schema: Schema | None, column: Column) -> Column:
        return column

    def decoders(self, df: DataFrame, column: str) -> Sequence[Decoder]:
        return []


class Broken(Plain):
    config_def = UpperConfig

    def __init__(self) -> None:
        raise RuntimeError("no licence")


class Upper(Transform):
    config_def: ClassVar[type[ConfigDef]] = UpperConfig
    version = "2.1"

    def configure(self, config: Mapping[str, str]) -> None:
        raise AssertionError("validation configures nothing")

    def apply(self, frame: Frame) -> Frame:
        return frame


class NoBoth:
    """No plugin."""


@pytest.fixture(scope="module")
def validator() -> Validator:
    props = {"bootstrap.servers": "b:1", "key.converter": JSON, "value.converter": JSON}
    plugins = Plugins(packages=[HERE])
    worker = StandaloneConfig.parse(props | {"offset.storage.file.filename": "/f"}, plugins.find_class)
    return Validator(plugins, worker)


def source(**more: str) -> dict[str, str | None]:
    dotted = {name.replace("_", "."): value for name, value in more.items()}
    return {"name": "c", "connector.class": "FileStreamSource", "topic": "t", **dotted}


def errors(infos: dict[str, Any]) -> dict[str, list[str]]:
    return {one["value"]["name"]: one["value"]["errors"] for one in infos["configs"] if one["value"]["errors"]}


@pytest.mark.parametrize(
    ("converter", "text"),
    [
        ("NoBoth", "Class class {} does not implement the Converter interface"),
        ("Abstract", "Class class {} is abstract and cannot be created"),
        ("Broken", "Invalid value {} for configuration key.converter: Could not instantiate class: no licence"),
        ("Plain", "Plugin {} has no config_def: the ConfigDef class of its configuration"),
        ("Missing", "Invalid value {} for configuration key.converter: Class {} could not be found."),
    ],
)
def test_a_converter_that_cannot_be_one(validator: Validator, converter: str, text: str) -> None:
    name = f"{HERE}.{converter}"
    assert errors(validator.validate(source(key_converter=name))) == {"key.converter": [text.format(name, name)]}


def test_a_transformation_brings_its_keys_under_its_alias(validator: Validator) -> None:
    config = source(transforms="up", transforms_up_type=f"{HERE}.Upper", transforms_up_times="0")
    infos = validator.validate(config)
    own = [one for one in infos["configs"] if one["definition"]["name"].startswith("transforms.up.")]
    assert [one["definition"]["name"].removeprefix("transforms.up.") for one in own] == [
        "type",
        "plugin.version",
        "field",
        "times",
        "negate",
        "predicate",
    ]
    assert {one["definition"]["group"] for one in own} == {"Transforms: up"}
    assert [one["definition"]["order_in_group"] for one in own] == [0, 1, 2, 3, 4, 5]
    times = own[3]
    assert times["definition"]["dependents"] == ["transforms.up.field"]
    assert times["value"]["recommended_values"] == ["times", None]
    assert own[1]["value"]["value"] == "2.1"
    assert own[4]["value"]["value"] == "false"
    assert errors(infos) == {
        "transforms.up.field": [
            'Missing required configuration "transforms.up.field" which has no default value.',
        ],
        "transforms.up.times": ["Invalid value 0 for configuration times: Value must be at least 1"],
    }
    assert infos["groups"][-1] == "Transforms: up"


def test_negate_needs_a_predicate(validator: Validator) -> None:
    config = source(transforms="up", transforms_up_type=f"{HERE}.Upper", transforms_up_field="f")
    config["transforms.up.negate"] = "true"
    assert errors(validator.validate(config)) == {
        "transforms.up.type": [
            "Config 'transforms.up.negate' was provided but there is no config 'transforms.up.predicate' defining a "
            "predicate to be negated."
        ]
    }


def test_the_version_of_a_transformation_is_checked(validator: Validator) -> None:
    config = source(transforms="up", transforms_up_type=f"{HERE}.Upper", transforms_up_field="f")
    config["transforms.up.plugin.version"] = "3"
    assert errors(validator.validate(config)) == {
        "transforms.up.plugin.version": [
            f"Plugin {HERE}.Upper not found that matches the version range [3,3], available versions: [2.1]"
        ]
    }


def test_all_errors_come_in_one_refusal(validator: Validator) -> None:
    config = source(tasks_max="0", key_converter_schemas_enable="unread")
    config["foo"] = None
    with pytest.raises(BadRequestError) as raised:
        validator.check(config)
    assert str(raised.value) == (
        "Connector configuration is invalid and contains the following 2 error(s):\n"
        "Null value can not be supplied as the configuration value.\n"
        "Invalid value 0 for configuration tasks.max: Value must be at least 1\n"
        "You can also find the above list of errors at the endpoint "
        "`/connector-plugins/{connectorType}/config/validate`"
    )


@pytest.mark.parametrize("name", ["Nope", f"{HERE}.NoBoth", ""])
def test_an_unknown_connector_is_a_bad_request(validator: Validator, name: str) -> None:
    text = f"Failed to find any class that implements Connector and which name matches {name}, available connectors are"
    with pytest.raises(BadRequestError, match=text):
        validator.check(source(connector_class=name))


def test_r16_a_configuration_without_a_class_keeps_its_secrets(validator: Validator) -> None:
    """At ce718d3 the error had the whole configuration."""
    with pytest.raises(BadRequestError) as raised:
        validator.check({"name": "c", "connection.password": "canary", "database.password": None})
    shown = "{name=c, connection.password=[hidden], database.password=null}"
    assert str(raised.value) == f"Connector config {shown} contains no connector type"


def test_values_of_a_client_have_javas_types(validator: Validator) -> None:
    config = source(producer_override_linger_ms="soon", producer_override_unknown="x")
    refused = "Invalid value soon for configuration linger.ms: Not a number of type LONG"
    assert errors(validator.validate(config)) == {"producer.override.linger.ms": [refused]}

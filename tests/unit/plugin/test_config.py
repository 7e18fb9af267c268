"""ConfigDef: Kafka's texts for wrong values, the typed model, the JSON of the REST API."""

from __future__ import annotations

from typing import Any, Self

import pytest
from pydantic import model_validator

from connect_dagster.errors import ConfigError
from connect_dagster.plugin.config import (
    ConfigDef,
    ConfigKey,
    ConfigTable,
    ConfigValue,
    Importance,
    Password,
    Recommender,
    Type,
    UniqueValues,
    Width,
    all_of,
    at_least,
    between,
    config_infos,
    config_key,
    key_info,
    merge_infos,
    no_control_characters,
    non_empty_string,
    non_null,
    one_of,
    one_of_ignoring_case,
    parse_value,
    prefixed_infos,
    to_text,
)
from connect_dagster.plugin.config.values import java_double


class LinesConfig(ConfigDef):
    file: str | None = config_key("file", default=None, importance=Importance.HIGH, doc="Input.")
    topic: str = config_key("topic", importance=Importance.HIGH, validator=non_empty_string)
    batch_size: int = config_key("batch.size", default=2000, importance=Importance.LOW)
    tags: tuple[str, ...] = config_key("tags", default=[])
    secret: Password | None = config_key("secret", default=None)

    @model_validator(mode="after")
    def _topic_is_not_the_file(self) -> Self:
        if self.topic == self.file:
            raise ConfigError.invalid("topic", self.topic, "must differ from file")
        return self


def texts(values: list[ConfigValue], name: str) -> list[str]:
    return next(value for value in values if value.name == name).errors


def test_parse_gives_typed_frozen_values() -> None:
    config = LinesConfig.parse({"topic": " lines ", "batch.size": " +10 ", "tags": "a , b", "secret": "s", "x": "1"})
    assert (config.topic, config.batch_size, config.tags, config.file) == ("lines", 10, ("a", "b"), None)
    assert config.secret == Password("s")
    assert "s" not in repr(config.secret).replace("[hidden]", "")
    with pytest.raises(ValueError, match="frozen"):
        config.topic = "other"


def test_unknown_keys_stay_in_the_originals() -> None:
    config = LinesConfig.parse({"topic": "t", "tag.a": "1", "tag.": "2", "tag.n": None})
    assert config.originals["tag.a"] == "1"
    assert config.with_prefix("tag.") == {"a": "1"}


@pytest.mark.parametrize(
    ("props", "text"),
    [
        ({}, 'Missing required configuration "topic" which has no default value.'),
        (
            {"Topic": "t"},
            'Missing required configuration "topic" which has no default value. There is "Topic": was "topic" meant?',
        ),
        ({"topic": ""}, "Invalid value  for configuration topic: String must be non-empty"),
        (
            {"topic": "t", "batch.size": "abc"},
            "Invalid value abc for configuration batch.size: Not a number of type INT",
        ),
        ({"topic": "t", "file": "t"}, "Invalid value t for configuration topic: must differ from file"),
    ],
)
def test_parse_errors_in_kafkas_words(props: dict[str, str | None], text: str) -> None:
    with pytest.raises(ConfigError) as raised:
        LinesConfig.parse(props)
    assert str(raised.value) == text


def test_pydantic_errors_take_kafkas_form() -> None:
    class Narrow(ConfigDef):
        size: int = config_key("size", type=Type.STRING)

    with pytest.raises(
        ConfigError, match=r"^Invalid value abc for configuration size: Input should be a valid integer"
    ):
        Narrow.parse({"size": "abc"})
    assert len(texts(Narrow.validate_all({"size": "abc"}), "size")) == 1


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (Type.BOOLEAN, " TRUE ", True),
        (Type.BOOLEAN, "false", False),
        (Type.SHORT, "-32768", -32768),
        (Type.INT, "2147483647", 2147483647),
        (Type.LONG, "9223372036854775807", 9223372036854775807),
        (Type.DOUBLE, "1.5f", 1.5),
        (Type.DOUBLE, "1e3", 1000.0),
        (Type.LIST, " a ,b,, c", ("a", "b", "", "c")),
        (Type.LIST, " ", ()),
        (Type.CLASS, " FileStreamSource ", "FileStreamSource"),
        (Type.STRING, None, None),
        (Type.STRING, "\u00a0x", "\u00a0x"),
    ],
)
def test_values_are_read_as_java_reads_them(kind: Type, text: str | None, value: Any) -> None:
    assert parse_value("k", text, kind) == value


@pytest.mark.parametrize(
    ("kind", "value", "reason"),
    [
        (Type.BOOLEAN, "yes", "Expected value to be either true or false"),
        (Type.BOOLEAN, 1, "Expected value to be either true or false"),
        (Type.SHORT, "32768", "Not a number of type SHORT"),
        (Type.INT, "2147483648", "Not a number of type INT"),
        (Type.INT, "1_000", "Not a number of type INT"),
        (Type.INT, "", "Not a number of type INT"),
        (Type.LONG, "1.5", "Not a number of type LONG"),
        (Type.DOUBLE, "1,5", "Not a number of type DOUBLE"),
        (Type.STRING, 5, "Expected value to be a string, but it was a int"),
        (Type.LIST, 5, "Expected a comma separated list."),
    ],
)
def test_wrong_values_give_kafkas_reason(kind: Type, value: Any, reason: str) -> None:
    with pytest.raises(ConfigError) as raised:
        parse_value("k", value, kind)
    assert str(raised.value) == f"Invalid value {value} for configuration k: {reason}"


def test_r16_a_wrong_password_is_not_shown() -> None:
    """At ce718d3 the error had a password that is not a string."""
    with pytest.raises(ConfigError) as raised:
        parse_value("k", 4711, Type.PASSWORD)
    text = "Invalid value [hidden] for configuration k: Expected value to be a string, but it was a int"
    assert str(raised.value) == text


def test_classes_are_found_by_the_callers_function() -> None:
    known = {"Json": "org.x.JsonConverter"}
    table = ConfigTable((ConfigKey("key.converter", Type.CLASS),))
    assert table.parse({"key.converter": "Json"}, known.get) == {"key.converter": "org.x.JsonConverter"}
    with pytest.raises(ConfigError) as raised:
        table.parse({"key.converter": "Nope"}, known.get)
    text = "Invalid value Nope for configuration key.converter: Class Nope could not be found."
    assert str(raised.value) == text


@pytest.mark.parametrize(
    ("validator", "value", "text"),
    [
        (at_least(1), 0, "Invalid value 0 for configuration k: Value must be at least 1"),
        (at_least(1), None, "Invalid value null for configuration k: Value must be non-null"),
        (between(0, 9), 10, "Invalid value 10 for configuration k: Value must be no more than 9"),
        (one_of("none", "all"), "x", "Invalid value x for configuration k: String must be one of: none, all"),
        (non_null, None, "Invalid value null for configuration k: entry must be non null"),
        (no_control_characters, "", "Invalid value  for configuration k: String may not be empty"),
        (
            no_control_characters,
            "a\tb\x7f",
            "Invalid value a\tb\x7f for configuration k: "
            "String may not contain control sequences but had the following ASCII chars: 9, 127",
        ),
        (
            one_of_ignoring_case("http"),
            "ftp",
            "Invalid value ftp for configuration k: String must be one of (case insensitive): HTTP",
        ),
        (UniqueValues(), None, "Configuration 'k' values must not be null."),
        (UniqueValues(), ("a", "a"), "Configuration 'k' values must not be duplicated."),
        (UniqueValues(), ("a", ""), "Configuration 'k' values must not be empty."),
        (
            UniqueValues(empty=False),
            (),
            "Configuration 'k' must not be empty. Valid values include: any non-empty value",
        ),
        (
            UniqueValues(empty=False, allowed=("a", "b")),
            (),
            "Configuration 'k' must not be empty. Valid values include: [a, b]",
        ),
        (
            UniqueValues(allowed=("a", "b")),
            ("a", "c"),
            "Invalid value c for configuration k: String must be one of: a, b",
        ),
        (
            all_of(non_null, non_empty_string),
            "",
            "Invalid value  for configuration k: String must be non-empty",
        ),
    ],
)
def test_validators_speak_kafkas_words(validator: Any, value: Any, text: str) -> None:
    with pytest.raises(ConfigError) as raised:
        validator("k", value)
    assert str(raised.value) == text


@pytest.mark.parametrize(
    ("validator", "value"),
    [
        (non_empty_string, None),
        (no_control_characters, None),
        (no_control_characters, "이름"),
        (between(0, 9), 9),
        (one_of_ignoring_case("http"), "HtTp"),
        (UniqueValues(null=True), None),
        (UniqueValues(), ()),
        (UniqueValues(allowed=("a", "b")), ("b", "a")),
    ],
)
def test_validators_let_right_values_pass(validator: Any, value: Any) -> None:
    validator("k", value)


def test_parsing_drops_what_a_unique_list_has_twice(caplog: pytest.LogCaptureFixture) -> None:
    table = ConfigTable((ConfigKey("topics", Type.LIST, (), validator=UniqueValues()),))
    assert table.parse({"topics": "a,b,a"}) == {"topics": ("a", "b")}
    assert "The original value is: [a, b, a], the updated value is: [a, b]" in caplog.text
    assert texts(table.validate_all({"topics": "a,a"}), "topics") == [
        "Configuration 'topics' values must not be duplicated."
    ]


def test_validate_all_reports_every_key() -> None:
    values = LinesConfig.validate_all({"batch.size": "x", "topic": ""})
    assert [value.name for value in values] == ["file", "topic", "batch.size", "tags", "secret"]
    assert texts(values, "topic") == ["Invalid value  for configuration topic: String must be non-empty"]
    assert texts(values, "batch.size") == ["Invalid value x for configuration batch.size: Not a number of type INT"]


def test_a_wrong_value_is_checked_as_null_too() -> None:
    table = ConfigTable((ConfigKey("tasks.max", Type.INT, 1, validator=at_least(1)),))
    assert texts(table.validate_all({"tasks.max": "abc"}), "tasks.max") == [
        "Invalid value abc for configuration tasks.max: Not a number of type INT",
        "Invalid value null for configuration tasks.max: Value must be non-null",
    ]


def test_checks_over_several_values_run_when_each_is_right() -> None:
    expected = ["Invalid value t for configuration topic: must differ from file"]
    assert texts(LinesConfig.validate_all({"topic": "t", "file": "t"}), "topic") == expected


def test_recommended_values_see_all_parsed_values() -> None:
    color = Recommender(lambda _, parsed: [parsed["size"]], visible=lambda _, parsed: parsed["size"] > 5)
    table = ConfigTable(
        (
            ConfigKey("color", Type.STRING, None, recommender=color),
            ConfigKey("size", Type.INT, 3, dependents=("color",)),
        )
    )
    value = table.validate_all({})[0]
    assert (value.recommended_values, value.visible) == ([3], False)


def test_a_table_refuses_a_key_defined_twice_and_an_unknown_dependent() -> None:
    with pytest.raises(ConfigError, match=r"^Configuration a is defined twice\.$"):
        ConfigTable((ConfigKey("a", Type.INT), ConfigKey("a", Type.INT)))
    with pytest.raises(ConfigError, match=r"are referred in the dependents, but not defined: b$"):
        ConfigTable((ConfigKey("a", Type.INT, dependents=("b",)),))


def test_a_default_must_pass_its_own_validator() -> None:
    with pytest.raises(ConfigError, match="Value must be at least 1"):
        config_key("a", type=Type.INT, default=0, validator=at_least(1))


def test_further_keys_replace_those_of_the_same_name() -> None:
    table = ConfigTable((ConfigKey("a", Type.INT), ConfigKey("b", Type.INT)))
    merged = table.with_keys([ConfigKey("a", Type.LONG), ConfigKey("c", Type.INT, group="G")])
    assert [(key.name, key.type) for key in merged] == [("a", Type.LONG), ("b", Type.INT), ("c", Type.INT)]
    assert merged.groups == ["G"]


def test_key_info_has_kafkas_fields() -> None:
    assert key_info(LinesConfig.keys()[2]) == {
        "name": "batch.size",
        "type": "INT",
        "required": False,
        "default_value": "2000",
        "importance": "LOW",
        "documentation": "",
        "group": None,
        "order_in_group": -1,
        "width": "NONE",
        "display_name": "batch.size",
        "dependents": [],
    }
    assert LinesConfig.key_infos()[1]["default_value"] is None
    assert LinesConfig.key_infos()[1]["required"] is True
    assert LinesConfig.key_infos()[3]["default_value"] == ""


def test_config_infos_count_errors_and_hide_passwords() -> None:
    values = LinesConfig.validate_all({"batch.size": "x", "secret": "s"})
    values.append(ConfigValue("extra", errors=["one", "two"]))
    infos = config_infos("Lines", LinesConfig.table(), values)
    assert (infos["name"], infos["error_count"], infos["groups"], len(infos["configs"])) == (
        "Lines",
        4,
        [],
        6,
    )
    assert infos["configs"][0]["definition"] is None
    assert infos["configs"][0]["value"]["name"] == "extra"
    assert infos["configs"][5]["value"] == {
        "name": "secret",
        "value": "[hidden]",
        "recommended_values": [],
        "errors": [],
        "visible": True,
    }


def test_prefixed_infos_count_keys_with_errors() -> None:
    table = ConfigTable((ConfigKey("size", Type.INT, group="G", width=Width.SHORT),))
    values = [ConfigValue("size", errors=["a", "b"]), ConfigValue("other")]
    infos = prefixed_infos(table, values, "key.converter.")
    assert (infos["error_count"], infos["groups"]) == (1, ["G"])
    assert infos["configs"][0]["definition"]["name"] == "key.converter.size"
    assert infos["configs"][1]["definition"] is None
    merged = merge_infos("c", infos, None, infos)
    assert (merged["name"], merged["error_count"], merged["groups"], len(merged["configs"])) == (
        "c",
        2,
        ["G"],
        4,
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, "1.0"),
        (0.001, "0.001"),
        (1e10, "1.0E10"),
        (1.25e-5, "1.25E-5"),
        (-0.0, "-0.0"),
        (float("inf"), "Infinity"),
    ],
)
def test_doubles_look_like_javas(value: float, text: str) -> None:
    assert java_double(value) == text


def test_values_as_text() -> None:
    shown = [
        to_text(("a", "b"), Type.LIST),
        to_text(True, Type.BOOLEAN),
        to_text(None, Type.INT),
        to_text(["a"], None),
    ]
    assert shown == ["a,b", "true", None, "[a]"]


def test_the_model_has_a_json_schema_and_can_be_built_by_name() -> None:
    schema = LinesConfig.model_json_schema()
    assert schema["properties"]["file"]["description"] == "Input."
    assert schema["properties"]["file"]["importance"] == "high"
    assert LinesConfig(topic="t", batch_size=5).batch_size == 5

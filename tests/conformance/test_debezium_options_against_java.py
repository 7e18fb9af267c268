"""Our definitions of Debezium's options beside those of its connectors and transforms for Java."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import pytest

from connect_dagster.connectors.mysql.options.config import BinlogConfig, MariaDbConfig, MySqlConfig
from connect_dagster.plugin.config import ConfigDef
from connect_dagster.transforms.debezium.by_logical_table_router import ByLogicalTableRouter
from connect_dagster.transforms.debezium.extract_new_record_state import ExtractNewRecordState
from connect_dagster.transforms.debezium.outbox import EventRouter
from tests.conformance.debezium_differences import FACTS, NOT_JAVAS, NOT_OURS, VALUES_NOT_JAVAS, VALUES_NOT_OURS
from tests.conformance.java_debezium import Debezium, definitions
from tests.golden_answers import Golden

CONNECTORS: Mapping[Debezium, type[BinlogConfig]] = {
    Debezium.MYSQL: MySqlConfig,
    Debezium.MARIADB: MariaDbConfig,
}
TRANSFORMS: Mapping[str, type[ConfigDef]] = {
    str(transform.java_class): transform.config_def
    for transform in (ByLogicalTableRouter, ExtractNewRecordState, EventRouter)
}
# Debezium's groups are four, of which one has a half of all options; ours are by subject.
OURS_IN_CONNECTORS = ("group", "order_in_group")
# All keys of a group without a name have the order 1 in Java.
OURS_IN_TRANSFORMS = ("order_in_group",)
# An option that changes nothing is not for users to see.
OURS_WITHOUT_EFFECT = ("importance", "width", "display_name")
BOTH = pytest.mark.parametrize("connector", Debezium, ids=lambda connector: connector.name)

Keys = dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def java(golden: Golden) -> Mapping[Debezium, Mapping[str, Keys]]:
    """The definitions of both connectors, and of the transforms in the version of the first."""
    transforms = {Debezium.MYSQL: list(TRANSFORMS), Debezium.MARIADB: []}
    found: dict[Debezium, Mapping[str, Keys]] = {}
    for connector in Debezium:
        ask = partial(_without_sentences, connector, transforms[connector])
        answer = golden.answer(f"{connector.name} definitions", ask)
        found[connector] = {name: {key["name"]: key for key in keys} for name, keys in answer.items()}
    return found


def _without_sentences(connector: Debezium, transforms: list[str]) -> dict[str, list[dict[str, Any]]]:
    """Ask Java; the documentation is ours, and the order of recommended values is that of a hash."""
    return {
        name: [{fact: _in_order(value) for fact, value in key.items() if fact != "documentation"} for key in keys]
        for name, keys in definitions(connector, [connector.java_class, *transforms]).items()
    }


def _in_order(value: Any) -> Any:
    return sorted(value) if isinstance(value, list) else value


@BOTH
def test_names_of_options(java: Mapping[Debezium, Mapping[str, Keys]], connector: Debezium) -> None:
    ours = {key.name for key in CONNECTORS[connector].table()}
    javas = java[connector][connector.java_class].keys()
    assert javas - ours <= NOT_OURS.keys()
    assert ours - javas <= NOT_JAVAS.keys()


@BOTH
def test_facts_of_options(java: Mapping[Debezium, Mapping[str, Keys]], connector: Debezium) -> None:
    config = CONNECTORS[connector]
    javas, ours = java[connector][connector.java_class], _by_name(config)
    without_effect = {key.name for key in config.without_effect}
    for name in javas.keys() & ours.keys():
        left_out = (*OURS_IN_CONNECTORS, "required", *(OURS_WITHOUT_EFFECT if name in without_effect else ()))
        assert _facts(name, javas[name], left_out) == _facts(name, ours[name], left_out)


@BOTH
def test_required_options(java: Mapping[Debezium, Mapping[str, Keys]], connector: Debezium) -> None:
    """Java's definition has no required option, and its validation refuses a configuration without these."""
    javas, ours = java[connector][connector.java_class], _by_name(CONNECTORS[connector])
    assert not any(key["required"] for key in javas.values())
    assert {name for name, key in javas.items() if key["wrong_if_missing"]} == {
        name for name, key in ours.items() if key["required"] and name in javas
    }


@BOTH
def test_recommended_values(java: Mapping[Debezium, Mapping[str, Keys]], connector: Debezium) -> None:
    theirs, here = _recommended(java, connector)
    assert theirs - here <= VALUES_NOT_OURS.keys()
    assert here - theirs <= VALUES_NOT_JAVAS.keys()


@pytest.mark.parametrize("name", TRANSFORMS)
def test_options_of_transforms(java: Mapping[Debezium, Mapping[str, Keys]], name: str) -> None:
    javas, ours = java[Debezium.MYSQL][name], _by_name(TRANSFORMS[name])
    assert javas.keys() - ours.keys() <= NOT_OURS.keys()
    assert ours.keys() - javas.keys() <= NOT_JAVAS.keys()
    for option in javas.keys() & ours.keys():
        left_out = (*OURS_IN_TRANSFORMS, "required")
        assert _facts(option, javas[option], left_out) == _facts(option, ours[option], left_out)
    both = [option for option in javas if option in ours]
    assert both == [option for option in ours if option in javas]


def test_every_reason_is_needed(java: Mapping[Debezium, Mapping[str, Keys]]) -> None:
    pairs = [(java[connector][connector.java_class], _by_name(config)) for connector, config in CONNECTORS.items()]
    pairs += [(java[Debezium.MYSQL][name], _by_name(config)) for name, config in TRANSFORMS.items()]
    assert {name for javas, ours in pairs for name in javas.keys() - ours.keys()} == NOT_OURS.keys()
    assert {name for javas, ours in pairs for name in ours.keys() - javas.keys()} == NOT_JAVAS.keys()
    for name, fact in FACTS:
        assert any(name in javas and name in ours and javas[name][fact] != ours[name][fact] for javas, ours in pairs)
    differences = [_recommended(java, connector) for connector in Debezium]
    assert {one for theirs, here in differences for one in theirs - here} == VALUES_NOT_OURS.keys()
    assert {one for theirs, here in differences for one in here - theirs} == VALUES_NOT_JAVAS.keys()


def _recommended(
    java: Mapping[Debezium, Mapping[str, Keys]], connector: Debezium
) -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
    """Return Java's recommended values and ours, with their options: of those that both have."""
    javas = java[connector][connector.java_class]
    ours = [value for value in CONNECTORS[connector].validate_all({}) if value.name in javas]
    return (
        {(value.name, one) for value in ours for one in javas[value.name]["recommended"]},
        {(value.name, one.lower()) for value in ours for one in value.recommended_values},  # Java lowers all
    )


def _by_name(config: type[ConfigDef]) -> Keys:
    return {key["name"]: key for key in config.key_infos()}


def _facts(name: str, key: Mapping[str, Any], left_out: tuple[str, ...]) -> dict[str, Any]:
    """Return what both say of a key; no default and an empty list are the same."""
    out = {*left_out, "documentation", "wrong_if_missing", "recommended"} | {fact for one, fact in FACTS if one == name}
    facts = {fact: _in_order(value) for fact, value in key.items() if fact not in out}
    if key["type"] == "LIST" or (name, "type") in FACTS:
        facts["default_value"] = key["default_value"] or ""
    return facts

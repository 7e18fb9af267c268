"""Freshness policies in YAML are those of the data that connectors write, and served by the polling sensor."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import dagster as dg
import pytest
from dagster import FreshnessPolicy
from dagster.components.core.component_tree import ComponentTreeException

from connect_dagster.orchestration import (
    FileStreamSourceResource,
    KafkaConnectWorkspace,
    build_connector_definitions,
)
from connect_dagster.orchestration.assets.keys import connector_key, file_key, topic_key
from connect_dagster.orchestration.components import KafkaConnectConnectorComponent
from tests.unit.orchestration.components.sandbox import loaded

SINK = {
    "name": "a-sink",
    "connector_class": "FileStreamSink",
    "config": {"topics": "lines", "file": "/tmp/out"},
}
SOURCE = {"name": "src", "connector_class": "FileStreamSource", "config": {"topic": "lines", "file": "/tmp/in"}}
HOUR = FreshnessPolicy.time_window(timedelta(hours=1))


@contextmanager
def definitions(**attributes: Any) -> Iterator[dg.Definitions]:
    given = {"workspace": {}, "connectors": [SINK, SOURCE], **attributes}
    with loaded(KafkaConnectConnectorComponent, given) as (_, defs):
        yield defs


def policies(defs: dg.Definitions) -> dict[dg.AssetKey, FreshnessPolicy | None]:
    return {spec.key: spec.freshness_policy for spec in defs.resolve_all_asset_specs()}


def test_data_that_connectors_write_has_the_policy_and_nothing_else() -> None:
    with definitions(freshness_policy={"fail_window_minutes": 60}) as defs:
        assert policies(defs) == {
            file_key("/tmp/in"): None,
            connector_key("local", "src"): None,
            topic_key("lines"): HOUR,
            connector_key("local", "a-sink"): None,
            file_key("/tmp/out"): HOUR,
        }


def test_a_policy_of_the_translation_goes_first() -> None:
    own = {"freshness_policy": "{{ dg.FreshnessPolicy.time_window(datetime.timedelta(days=1)) }}"}
    with definitions(freshness_policy={"fail_window_minutes": 60}, data_translation=own) as defs:
        assert policies(defs)[topic_key("lines")] == FreshnessPolicy.time_window(timedelta(days=1))


@pytest.mark.parametrize(
    ("given", "policy"),
    [
        (
            {"fail_window_minutes": "{{ 6 * 10 }}", "warn_window_minutes": 30},
            FreshnessPolicy.time_window(timedelta(hours=1), timedelta(minutes=30)),
        ),
        (
            {"deadline_cron": "0 6 * * *", "lower_bound_delta_minutes": 90, "timezone": "Europe/Berlin"},
            FreshnessPolicy.cron("0 6 * * *", timedelta(minutes=90), "Europe/Berlin"),
        ),
    ],
    ids=["window", "deadline"],
)
def test_a_policy_is_a_window_or_a_deadline(given: dict[str, Any], policy: FreshnessPolicy) -> None:
    with definitions(freshness_policy=given) as defs:
        assert policies(defs)[topic_key("lines")] == policy


def test_a_short_window_needs_a_sensor_that_reports_more_often() -> None:
    with definitions(freshness_policy={"fail_window_minutes": 5}, event_interval_seconds=60) as defs:
        assert policies(defs)[topic_key("lines")] == FreshnessPolicy.time_window(timedelta(minutes=5))


@pytest.mark.parametrize(
    ("attributes", "sentences"),
    [
        (
            {"freshness_policy": {"fail_window_minutes": 15}},
            ["a window of 15 minutes", "every 15 minutes", "a value be"],
        ),
        (
            {"freshness_policy": {"fail_window_minutes": 60, "warn_window_minutes": 5}},
            ["a window of 5 minutes", "event_interval_seconds"],
        ),
        (
            {"freshness_policy": {"fail_window_minutes": 60}, "polling_sensor": False},
            ["freshness_policy needs the materialisations", "leave polling_sensor true"],
        ),
        (
            {"freshness_policy": {"fail_window_minutes": 30, "warn_window_minutes": 40}},
            ["freshness_policy: ", "warn_window must be less than fail_window"],
        ),
        (
            {"freshness_policy": {"fail_window_minutes": 0}},
            ["freshness_policy: ", "fail_window cannot be less than 1 minute"],
        ),
        (
            {"freshness_policy": {"deadline_cron": "at dawn", "lower_bound_delta_minutes": 9}},
            ["freshness_policy: ", "Invalid cron string"],
        ),
        (
            {"freshness_policy": {"deadline_cron": "0 6 * * *", "lower_bound_delta_minutes": 9, "timezone": "Mars"}},
            ["freshness_policy: ", "Invalid IANA timezone: Mars"],
        ),
        ({"freshness_policy": {"fail_window_hours": 3}}, ["fail_window_hours", "not permitted"]),
    ],
)
def test_a_policy_that_cannot_be_is_refused(attributes: dict[str, Any], sentences: list[str]) -> None:
    with pytest.raises(ComponentTreeException) as raised, definitions(**attributes):
        pass
    message = f"{raised.value}{raised.value.__cause__}"
    assert [sentence for sentence in sentences if sentence not in message] == [], message


def test_in_python_it_is_an_argument() -> None:
    source = FileStreamSourceResource(workspace=KafkaConnectWorkspace(), name="src", file="/tmp/in", topic="lines")
    found = policies(build_connector_definitions(source, freshness_policy=HOUR))
    assert {key for key, policy in found.items() if policy == HOUR} == {topic_key("lines")}

"""Errors of ``exactly.once.support=required``, in the words of ``DistributedHerder``."""

from collections.abc import Mapping

import pytest

from connect_dagster.connectors.file.source import FileStreamSourceConnector
from connect_dagster.herder.validation.exactly_once import add_exactly_once_errors
from connect_dagster.plugin.config import ConfigDef, ConfigValue
from connect_dagster.plugin.connector import ExactlyOnceSupport, Properties, SourceConnector, SourceTask

REQUIRED: dict[str, str | None] = {"exactly.once.support": "REQUIRED", "file": "/lines", "topic": "lines"}
DISABLED = "This worker does not have exactly-once source support enabled."
UNSUPPORTED = "The connector does not support exactly-once semantics with the provided configuration."


class Silent(SourceConnector):
    """Does not say what it supports."""

    config_def = ConfigDef
    task_class = SourceTask

    def start(self, config: Properties) -> None: ...

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        return []


class Failing(Silent):
    def exactly_once_support(self, config: Properties) -> ExactlyOnceSupport | None:
        raise ValueError(config.get("text", ""))


def errors(plugin: type[SourceConnector], config: Mapping[str, str | None], *, enabled: bool = True) -> list[str]:
    values = [ConfigValue("exactly.once.support"), ConfigValue("transaction.boundary")]
    add_exactly_once_errors(plugin, config, values, enabled=enabled)
    return list(values[0].errors)


def test_a_request_is_not_checked() -> None:
    assert errors(Failing, {"exactly.once.support": "requested"}, enabled=False) == []


def test_a_connector_that_supports_it_is_accepted() -> None:
    assert errors(FileStreamSourceConnector, REQUIRED) == []


@pytest.mark.parametrize(
    ("plugin", "config", "expected"),
    [
        (FileStreamSourceConnector, REQUIRED | {"file": None}, UNSUPPORTED),
        (Silent, REQUIRED, "The connector does not implement the API required for preflight validation"),
        (Failing, REQUIRED | {"text": "no"}, "An unexpected error occurred during validation: no"),
        (Failing, REQUIRED, "An unexpected error occurred during validation; please see the worker logs"),
    ],
)
def test_others_have_one_error(plugin: type[SourceConnector], config: Mapping[str, str | None], expected: str) -> None:
    (found,) = errors(plugin, config)
    assert found.startswith(expected)


def test_a_worker_without_transactions_is_another_error() -> None:
    assert errors(FileStreamSourceConnector, REQUIRED, enabled=False) == [DISABLED]
    assert errors(FileStreamSourceConnector, REQUIRED | {"file": None}, enabled=False) == [DISABLED, UNSUPPORTED]

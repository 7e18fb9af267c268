"""Keys of the rate limit: only connectors that have them, shared by tasks."""

import pytest

from connect_dagster.errors import ConfigError
from connect_dagster.plugin.config import ConfigTable
from connect_dagster.plugin.rate import UNLIMITED, Rate
from connect_dagster.worker.config.rate_limit import rate_limit_keys, rate_of

RECORDS, BYTES = "rate.limit.records.per.second", "rate.limit.bytes.per.second"


@pytest.mark.parametrize(
    ("config", "tasks", "rate"),
    [
        ({}, 3, UNLIMITED),
        ({RECORDS: "100"}, 1, Rate(records=100)),
        ({RECORDS: "100", BYTES: "1000"}, 4, Rate(25, 250)),
        ({BYTES: "1"}, 0, Rate(bytes=1)),
    ],
)
def test_tasks_share_it(config: dict[str, str], tasks: int, rate: Rate) -> None:
    assert rate_of(config, tasks) == rate


@pytest.mark.parametrize(
    ("config", "error"),
    [
        ({RECORDS: "0"}, f"Invalid value 0 for configuration {RECORDS}: Value must be at least 1"),
        ({BYTES: "1 MB"}, f"Invalid value 1 MB for configuration {BYTES}: Not a number of type LONG"),
        (
            {"rate.limit.records": "5"},
            "Invalid value 5 for configuration rate.limit.records: "
            f"This limit does not exist: use {RECORDS} or {BYTES}",
        ),
    ],
)
def test_wrong_ones_are_named(config: dict[str, str], error: str) -> None:
    values = ConfigTable(tuple(rate_limit_keys(config))).validate_all(config)
    assert [text for value in values for text in value.errors] == [error]


def test_a_wrong_value_is_refused_by_the_task() -> None:
    with pytest.raises(ConfigError, match=f"Invalid value none for configuration {RECORDS}"):
        rate_of({RECORDS: "none"}, 1)


def test_connectors_without_have_javas_keys_alone() -> None:
    assert list(rate_limit_keys({"name": "c", "rate": "1"})) == []

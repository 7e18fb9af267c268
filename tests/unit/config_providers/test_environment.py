"""EnvVarConfigProvider: variables of the process, within a pattern."""

from __future__ import annotations

import pytest

from connect_dagster.config_providers.environment import EnvVarConfigProvider
from connect_dagster.errors import ConfigError


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"DB_USER": "u", "DB_PASSWORD": "p", "OTHER_DB": "o"}.items():
        monkeypatch.setenv(name, value)


def provider(**options: str) -> EnvVarConfigProvider:
    made = EnvVarConfigProvider()
    made.configure({name.replace("_", "."): value for name, value in options.items()})
    return made


@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({}, {"DB_USER": "u", "OTHER_DB": "o"}),
        ({"allowlist_pattern": "DB_.*"}, {"DB_USER": "u"}),
        ({"allowlist_pattern": "DB_"}, {}),
    ],
)
def test_variables_whose_whole_name_matches(options: dict[str, str], found: dict[str, str]) -> None:
    assert provider(**options).get("", {"DB_USER", "OTHER_DB", "NOT_SET"}).values == found


@pytest.mark.usefixtures("environment")
def test_variables_are_those_the_worker_was_started_with(monkeypatch: pytest.MonkeyPatch) -> None:
    reader = provider()
    monkeypatch.setenv("DB_USER", "later")
    assert reader.get("", {"DB_USER"}).values == {"DB_USER": "u"}


def test_there_are_no_paths() -> None:
    with pytest.raises(ConfigError, match=r"^Path is not supported for EnvVarConfigProvider, invalid value '/etc'$"):
        provider().get("/etc", {"DB_USER"})


def test_a_pattern_that_is_none() -> None:
    with pytest.raises(
        ConfigError, match=r"^Invalid value DB_\( for configuration allowlist\.pattern: It is not a reg"
    ):
        provider(allowlist_pattern="DB_(")


def test_a_runaway_pattern(monkeypatch: pytest.MonkeyPatch) -> None:
    """R8: at ce718d3 the worker did not come up, and said nothing."""
    monkeypatch.setenv("a" * 60 + "_", "x")
    with pytest.raises(ConfigError, match=r"for configuration allowlist\.pattern: matching 'a"):
        provider(allowlist_pattern="(a|aa)+$")

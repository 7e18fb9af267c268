"""The guide to the JDBC sink: its settings are valid, its links lead somewhere, and it names no option there is not."""

import re
from pathlib import Path

import pytest

from connect_dagster.connectors.jdbc.sink.config import InsertMode, JdbcSinkConfig, KeyMode
from connect_dagster.java.properties import parse_properties

GUIDE = Path(__file__).parents[4] / "docs" / "jdbc_sink.md"
TEXT = GUIDE.read_text(encoding="utf-8")
SETTINGS = [parse_properties(block, GUIDE.name) for block in re.findall(r"```properties\n(.*?)```", TEXT, re.DOTALL)]
WHOLE = SETTINGS[0]


@pytest.mark.parametrize("settings", SETTINGS)
def test_settings_are_valid(settings: dict[str, str]) -> None:
    parsed = JdbcSinkConfig.parse({**WHOLE, **settings})
    assert (parsed.insert_mode, parsed.pk_mode) == (InsertMode.UPSERT, KeyMode.RECORD_KEY)


def test_it_tells_of_each_mode() -> None:
    assert all(f"| `{mode.value}` |" in TEXT for mode in (*InsertMode, *KeyMode))


@pytest.mark.parametrize("target", re.findall(r"\]\(([^)#]+)\)", TEXT))
def test_links_lead_somewhere(target: str) -> None:
    assert (GUIDE.parent / target).exists()

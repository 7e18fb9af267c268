"""Every option of Debezium's transforms is set in a test."""

from pathlib import Path

import pytest

from connect_dagster.plugin.config import ConfigDef
from connect_dagster.transforms.debezium.by_logical_table_router import ByLogicalTableRouterConfig
from connect_dagster.transforms.debezium.extract_new_record_state import ExtractNewRecordStateConfig
from connect_dagster.transforms.debezium.outbox_table import EventRouterConfig

TESTS = Path(__file__).parents[3]
FILES = [
    file
    for ring in ("unit", "integration")
    for file in sorted((TESTS / ring / "transforms" / "debezium").glob("test_*.py"))
    if file != Path(__file__)
]
# Accepted, and without effect.
WITHOUT_EFFECT = {"table.field.event.type"}


@pytest.mark.parametrize("options", [ByLogicalTableRouterConfig, ExtractNewRecordStateConfig, EventRouterConfig])
def test_every_option_has_its_test(options: type[ConfigDef]) -> None:
    text = "".join(file.read_text(encoding="utf-8") for file in FILES)
    missing = {key.name for key in options.keys() if f'"{key.name}"' not in text}  # noqa: SIM118 (not of a dict)
    assert missing - WITHOUT_EFFECT == set()

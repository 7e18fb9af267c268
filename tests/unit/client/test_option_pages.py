"""Pages that explain options: those that there are, with the options in them."""

from pathlib import Path

import pytest

from connect_dagster.client.option_pages import CONNECTOR_OPTIONS, GUIDES, option_pages, refusal_text
from connect_dagster.isolation.plugins import Kind, Plugins

ROOT = Path(__file__).parents[3]
JDBC_SOURCE = "io.confluent.connect.jdbc.JdbcSourceConnector"


def test_each_connector_has_its_row_and_its_options_a_page() -> None:
    connectors = Plugins().all((Kind.SOURCE, Kind.SINK))
    assert {one.class_name for one in connectors} == GUIDES.keys()
    reference = (ROOT / CONNECTOR_OPTIONS).read_text(encoding="utf-8")
    for one in connectors:
        section = reference.partition(f"\n## `{one.class_name}`\n")[2].partition("\n## ")[0]
        assert [key.name for key in one.plugin.config_def.table() if f"| `{key.name}` |" not in section] == []


@pytest.mark.parametrize(("name", "guide"), [pair for pair in GUIDES.items() if pair[1]])
def test_a_guide_is_about_its_connector(name: str, guide: str) -> None:
    assert name.rpartition(".")[2].removesuffix("Connector") in (ROOT / guide).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("connector", "keys", "pages"),
    [
        (JDBC_SOURCE, ["mode", "name"], ["docs/jdbc.md", CONNECTOR_OPTIONS]),
        ("JdbcSource", ["mode"], ["docs/jdbc.md", CONNECTOR_OPTIONS]),
        ("FileStreamSinkConnector", ["topics"], [CONNECTOR_OPTIONS]),
        (JDBC_SOURCE, ["transforms.cut.field"], ["docs/reference/transform_options.md"]),
        (
            JDBC_SOURCE,
            ["value.converter.schemas.enable", "predicates.a.pattern", "transforms"],
            [
                "docs/reference/converter_options.md",
                "docs/reference/transform_options.md",
                "docs/jdbc.md",
                CONNECTOR_OPTIONS,
            ],
        ),
        ("x.Other", ["mode"], ["`connect-dagster plugin describe x.Other`", CONNECTOR_OPTIONS]),
    ],
)
def test_pages_of_options(connector: str, keys: list[str], pages: list[str]) -> None:
    assert option_pages(connector, keys) == pages
    assert [page for page in pages if page.startswith("docs/") and not (ROOT / page).exists()] == []


def test_a_refusal_ends_with_the_pages() -> None:
    errors = {"mode": ("Invalid value x for configuration mode: no.",), "topic.prefix": ("missing", "null")}
    assert refusal_text(JDBC_SOURCE, errors) == (
        "mode: Invalid value x for configuration mode: no; topic.prefix: missing; topic.prefix: null; "
        f"see docs/jdbc.md, {CONNECTOR_OPTIONS}"
    )

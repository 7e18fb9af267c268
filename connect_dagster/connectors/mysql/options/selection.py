"""Options of what is captured: databases, tables, columns, transactions of some sources."""

from __future__ import annotations

from collections.abc import Sequence

from connect_dagster.connectors.mysql.positions.gtid_sources import EXCLUDES, INCLUDES, GtidSources
from connect_dagster.connectors.mysql.selection.regex_lists import NameFilter, RegexList, regexes
from connect_dagster.plugin.config import ConfigDef, Importance, Width, config_group, config_key

FILTERS = "Filters"
LISTS = (
    ("database.include.list", "database.exclude.list"),
    ("table.include.list", "table.exclude.list"),
    ("column.include.list", "column.exclude.list"),
    (INCLUDES, EXCLUDES),
)
"""Lists of which only one may be given."""

_LIST = (
    "Regular expressions, with a comma between two of them, each for a whole name; upper and lower case are the same."
)


class SelectionOptions(ConfigDef):
    """Filters by name."""

    with config_group(FILTERS, importance=Importance.MEDIUM, width=Width.LONG):
        databases_included: tuple[str, ...] = config_key(
            "database.include.list",
            default=(),
            importance=Importance.HIGH,
            validator=regexes,
            dependents=("table.include.list",),
            display_name="Include Databases",
            doc=f"Databases to capture. Left out, all but MySQL's own. {_LIST}",
        )
        databases_excluded: tuple[str, ...] = config_key(
            "database.exclude.list",
            default=(),
            validator=regexes,
            display_name="Exclude Databases",
            doc=f"Databases not to capture. {_LIST}",
        )
        tables_included: tuple[str, ...] = config_key(
            "table.include.list",
            default=(),
            importance=Importance.HIGH,
            validator=regexes,
            display_name="Include Tables",
            doc=f"Tables to capture, as database.table. {_LIST}",
        )
        tables_excluded: tuple[str, ...] = config_key(
            "table.exclude.list",
            default=(),
            validator=regexes,
            display_name="Exclude Tables",
            doc=f"Tables not to capture, as database.table. {_LIST}",
        )
        columns_included: tuple[str, ...] = config_key(
            "column.include.list",
            default=(),
            validator=regexes,
            display_name="Include Columns",
            doc=f"Columns that records have, as database.table.column. {_LIST}",
        )
        columns_excluded: tuple[str, ...] = config_key(
            "column.exclude.list",
            default=(),
            validator=regexes,
            display_name="Exclude Columns",
            doc=f"Columns that records do not have, as database.table.column. {_LIST}",
        )
        ignores_built_in: bool = config_key(
            "table.ignore.builtin",
            default=True,
            importance=Importance.LOW,
            width=Width.SHORT,
            display_name="Ignore system databases",
            dependents=("database.include.list",),
            doc="Whether tables of the databases mysql, sys, performance_schema and information_schema are left out.",
        )
        gtid_includes: tuple[str, ...] = config_key(
            INCLUDES,
            default=(),
            importance=Importance.HIGH,
            validator=regexes,
            display_name="Include GTID sources",
            dependents=("table.include.list",),
            doc="Servers whose transactions count when the position to begin at is looked for: regular expressions for "
            "their UUID, with MariaDB for domain-server.",
        )
        gtid_excludes: tuple[str, ...] = config_key(
            EXCLUDES,
            default=(),
            validator=regexes,
            display_name="Exclude GTID sources",
            doc="Servers whose transactions do not count.",
        )
        gtid_filters_rows: bool = config_key(
            "gtid.source.filter.dml.events",
            default=True,
            width=Width.SHORT,
            display_name="Filter DML events",
            doc="Whether rows that those servers wrote are left out as well.",
        )
        ignores_gtid: bool = config_key(
            "gtid.ignore.on.recovery",
            default=False,
            importance=Importance.LOW,
            width=Width.SHORT,
            display_name="Ignore GTID on recovery",
            doc="Whether the log is read on from the stored file and position although the offset has GTIDs.",
        )

    @property
    def database_filter(self) -> NameFilter:
        """Return the filter of databases."""
        return _filter("database", self.databases_included, self.databases_excluded)

    @property
    def table_filter(self) -> NameFilter:
        """Return the filter of tables."""
        return _filter("table", self.tables_included, self.tables_excluded)

    @property
    def column_filter(self) -> NameFilter:
        """Return the filter of columns."""
        return _filter("column", self.columns_included, self.columns_excluded)

    @property
    def gtid_sources(self) -> GtidSources:
        """Return the filter of sources of transactions."""
        included, excluded = RegexList.of_items(INCLUDES, self.gtid_includes), self.gtid_excludes
        return GtidSources(NameFilter(included, RegexList.of_items(EXCLUDES, excluded)), self.gtid_filters_rows)


def _filter(kind: str, included: Sequence[str], excluded: Sequence[str]) -> NameFilter:
    return NameFilter(
        RegexList.of_items(f"{kind}.include.list", included), RegexList.of_items(f"{kind}.exclude.list", excluded)
    )

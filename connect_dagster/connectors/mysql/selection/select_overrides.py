"""Statements that read a table in a snapshot in place of ``SELECT *`` (``snapshot.select.statement.overrides``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from connect_dagster.connectors.mysql.table_ids import TableId

OPTION = "snapshot.select.statement.overrides"


@dataclass(frozen=True, slots=True)
class SelectOverrides:
    """Statements by table.

    Attributes:
        statements: what reads a table.
        warnings: tables without a statement, and statements without a table; both are without effect.
    """

    statements: Mapping[TableId, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    @classmethod
    def parse(cls, properties: Mapping[str, str]) -> SelectOverrides:
        """Return the statements in a connector's properties.

        Args:
            properties: with the list of tables and, for each of them, the list's key with ``.database.table``.

        Raises:
            ConfigError: the list has something else than names of tables.
        """
        names = [name for name in map(str.strip, properties.get(OPTION, "").split(",")) if name]
        statements, warnings = {}, []
        for name in names:
            table, statement = TableId.parse(OPTION, name), properties.get(f"{OPTION}.{name}", "").strip()
            if statement:
                statements[table] = statement
            else:
                warnings.append(f"{OPTION} names {name}, but the statement {OPTION}.{name} is missing")
        listed = {f"{OPTION}.{name}" for name in names}
        warnings += [
            f"{key} is without effect: {OPTION} must name {key.removeprefix(f'{OPTION}.')}"
            for key in properties
            if key.startswith(f"{OPTION}.") and key not in listed
        ]
        return cls(statements, tuple(warnings))

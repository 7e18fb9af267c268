"""Transactions that count by where they were written: ``gtid.source.includes`` and ``gtid.source.excludes``."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

from connect_dagster.connectors.mysql.selection.regex_lists import NameFilter

INCLUDES, EXCLUDES = "gtid.source.includes", "gtid.source.excludes"


@dataclass(frozen=True, slots=True)
class GtidSources:
    """A filter of sources: of a server's UUID for MySQL, of ``domain-server`` for MariaDB.

    Attributes:
        names: regular expressions of both options.
        of_rows: whether rows of other sources are left out, not only their positions
            (``gtid.source.filter.dml.events``).
    """

    names: NameFilter
    of_rows: bool = True

    def kept(self, sources: Sequence[str]) -> list[str]:
        """Return the sources that count for positions, in their order."""
        return self.names.kept(sources)

    def keeps(self, source: str) -> bool:
        """Return whether a source counts for positions (``MySqlGtidSet.retained``)."""
        return _keeps(self.names, source)

    def keeps_rows(self, source: str) -> bool:
        """Return whether rows that a source wrote are captured."""
        return not self.of_rows or self.keeps(source)


@functools.lru_cache(maxsize=1024)  # asked for each transaction, of few sources
def _keeps(names: NameFilter, source: str) -> bool:
    return bool(names.kept([source]))

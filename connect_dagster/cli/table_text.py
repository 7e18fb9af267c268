"""Tables as ``connect-dagster`` prints them: columns in line, two spaces between them; times in them. Pure."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence


def table_text(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return the rows below their heads; a cell's line breaks become spaces.

    Examples:
        >>> print(table_text(("NAME", "STATE"), [("local-file-source", "RUNNING")]))
        NAME               STATE
        local-file-source  RUNNING
    """
    lines = [tuple(heads), *(tuple(cell.replace("\n", " ") for cell in row) for row in rows)]
    widths = [max(len(cell) for cell in column) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def time_text(millis: int) -> str:
    """Return a time in epoch milliseconds as ISO 8601 in UTC.

    Examples:
        >>> time_text(1_700_000_000_000)
        '2023-11-14T22:13:20.000Z'
    """
    moment = datetime.datetime.fromtimestamp(millis / 1000, datetime.UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")

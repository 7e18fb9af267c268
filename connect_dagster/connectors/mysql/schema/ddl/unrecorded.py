"""Statements that are in no schema history, as they change neither tables nor databases.

Debezium: the default value of ``schema.history.internal.ddl.filter``.
"""

from __future__ import annotations

import re

_STARTS = (
    r"GRANT\s",
    r"REVOKE\s",
    r"SAVEPOINT\s",
    r"FLUSH\s+RELAY\s+LOGS",
    r"#\s*Dummy\s+event",
    r"DROP\s+TEMPORARY\s+TABLE\s",
    r"(?:ANALYZE|OPTIMIZE|REPAIR)\s+(?:(?:NO_WRITE_TO_BINLOG|LOCAL)\s+)?TABLE\s",
    r"(?:CREATE|ALTER|DROP)\s+(?:OR\s+REPLACE\s+)?(?:IF\s+(?:NOT\s+)?EXISTS\s+)?(?:USER|ROLE)\b",
    r"(?:CREATE|ALTER|DROP)\s+(?:OR\s+REPLACE\s+)?(?:ALGORITHM\s*=\s*\S+\s+)?(?:DEFINER\s*=\s*\S+\s+)?"
    r"(?:SQL\s+SECURITY\s+\S+\s+)?(?:VIEW|FUNCTION|PROCEDURE|TRIGGER)\s",
)
_UNRECORDED = re.compile(rf"\s*(?:SET\s+STATEMENT\s.*?\sFOR\s+)?(?:{'|'.join(_STARTS)})", re.IGNORECASE | re.DOTALL)


def is_unrecorded(statement: str) -> bool:
    """Return whether a statement is one of those that a schema history never has."""
    return _UNRECORDED.match(statement) is not None

"""Where what we capture is not what Debezium captures, each with the reason and the most records that may differ."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tests.conformance.capture_comparison import Difference


@dataclass(frozen=True, slots=True)
class Reason:
    """A reason for differences.

    Attributes:
        where: expression for topic and path of the fields, with a blank between them.
        why: the reason.
        most: number of records that may differ in one run.
        java: expression for Java's value.
        ours: expression for our value.
    """

    where: str
    why: str
    most: int
    java: str = ".*"
    ours: str = ".*"

    def explains(self, difference: Difference) -> bool:
        """Return whether it is a reason for a difference."""
        place = f"{difference.topic} {difference.path}"
        values = ((self.java, difference.java), (self.ours, difference.ours))
        return bool(
            re.fullmatch(self.where, place)
            and all(re.fullmatch(expression, str(value), re.DOTALL) for expression, value in values)
        )


_BOUNDARIES = r"\{prefix\}\.transaction"
_TABLE = r"\{prefix\}\.shop\."
_CHANGES = r"\{prefix\}"
_HISTORY = r"\{prefix\}\.history"
_ROW = "/value/payload/(before|after)/"
_FIELD = "/value/schema/fields/(before|after)/fields/"

REASONS: Sequence[Reason] = (
    Reason(
        "offset /(pos|gtids|row|event|server_id|ts_sec|transaction_.*)", "Ours is after the commit of the last rows.", 1
    ),
    Reason(
        f"({_CHANGES}|{_HISTORY}) record",
        "Java's text of CREATE UNIQUE INDEX begins with its second word.",
        2,
        java="UNIQUE INDEX .*",
    ),
    Reason(
        f"{_HISTORY} record",
        "Java's history of captured tables alone has no CREATE UNIQUE INDEX, which may make a key.",
        1,
        java=r"\(absent\)",
        ours="CREATE UNIQUE INDEX .*",
    ),
    Reason(
        f"{_CHANGES} /value/payload/source/table",
        "Names of several tables: Java has them by their hashes.",
        6,
        "\\S+,\\S+",
    ),
    Reason(
        f"{_BOUNDARIES} /value/payload/data_collections/.*",
        "Tables of a transaction: Java has them by their hashes.",
        3,
    ),
    Reason(f"{_CHANGES} /value/payload/source/row", "Java's is left over from rows before the statement.", 60, "[1-9]"),
    Reason(
        f"{_HISTORY} /value/tableChanges/0/previousId",
        "Java's history has no earlier name of ALTER TABLE with RENAME, and so keeps the table.",
        1,
        java=r"\(absent\)",
    ),
    Reason(f"{_TABLE}(s_)?zero_years {_ROW}[ab]", "The year 0000 is 1900 or 2000 in Java.", 20, "1900|2000"),
    Reason(
        f"{_TABLE}floats {_ROW}i", "The text protocol, with which Java takes a snapshot, rounds FLOAT.", 2, "16777200.0"
    ),
    Reason(f"{_TABLE}s_floats ({_FIELD}h/type|{_ROW}h)", "Java reads REAL, which has 64 bits, as one of 32 bits.", 9),
    Reason(
        f"{_TABLE}(s_)?zero_times {_ROW}[ef]",
        "Java's connector for MariaDB, which is older, takes a zero TIMESTAMP of the log for the epoch.",
        8,
        java="1970-01-01T.*",
    ),
    Reason(f"{_TABLE}(s_)?labels {_ROW}c", "Java escapes commas of labels in values as well.", 6, r"a\\,b"),
    Reason(
        f"{_TABLE}s_byte_texts ({_FIELD}[ab]/type|{_ROW}[ab])",
        "Java takes bytes for texts where a streamed statement writes the type as a text of the character set binary.",
        12,
    ),
    Reason(
        f"({_CHANGES}|{_HISTORY}) .*/tableChanges/0/table/columns/a/charsetName",
        "The type CHAR(3) BYTE has the character set binary.",
        2,
        java="utf8mb4",
    ),
    Reason(
        f"(({_CHANGES}|{_HISTORY}) .*/comment|{_TABLE}(customers|like_table) {_FIELD}(mobile|handy|portable)/doc)",
        "Java keeps the comment of a column that CHANGE COLUMN defines without one, as the server does not.",
        20,
        java="calls",
    ),
    Reason(
        f"({_CHANGES}|{_HISTORY}) .*tableChanges/0/(table/)?comment",
        "Java has no comment of a table that CREATE TABLE with LIKE copies, as the server does.",
        2,
        java="None",
    ),
    Reason(
        f"{_TABLE}(s_)?identifiers {_ROW}[ab]", "Java does not pad a UUID, whose last zeros the log does not have.", 6
    ),
    Reason(f"{_TABLE}s_binaries {_ROW}a", "Java does not pad BINARY without a length.", 4),
    Reason(f"{_TABLE}(s_)?computed_documents {_ROW}a", "Java drops the sign of a negative TIME in JSON.", 2),
)


def unexplained(differences: Iterable[Difference]) -> list[Difference]:
    """Return the differences that have no reason."""
    return [one for one in differences if not any(reason.explains(one) for reason in REASONS)]


def counts(differences: Iterable[Difference]) -> dict[Reason, int]:
    """Return for each reason that is needed the number of records that it is for."""
    records: dict[Reason, set[tuple[str, int]]] = {}
    for one in differences:
        for reason in REASONS:
            if reason.explains(one):
                records.setdefault(reason, set()).add((one.topic, one.record))
                break
    return {reason: len(found) for reason, found in records.items()}

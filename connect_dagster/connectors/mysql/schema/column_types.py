"""Types of columns as statements name them: JDBC's number for each, and the type that the server stores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum


class JdbcType(IntEnum):
    """Numbers of ``java.sql.Types``."""

    NCHAR = -15
    NVARCHAR = -9
    BIT = -7
    BIGINT = -5
    VARBINARY = -3
    BINARY = -2
    CHAR = 1
    NUMERIC = 2
    DECIMAL = 3
    INTEGER = 4
    SMALLINT = 5
    FLOAT = 6
    REAL = 7
    DOUBLE = 8
    VARCHAR = 12
    BOOLEAN = 16
    DATE = 91
    TIME = 92
    TIMESTAMP = 93
    OTHER = 1111
    BLOB = 2004
    TIMESTAMP_WITH_TIMEZONE = 2014


@dataclass(frozen=True, slots=True)
class TypeFacts:
    """Facts of a type that follow from its name.

    Attributes:
        jdbc: Debezium's choice of JDBC's type.
        stored: name of the type for the server, where the statement has a synonym.
        length: of a column that is written without one.
        scale: the same.
    """

    jdbc: JdbcType
    stored: str
    length: int | None = None
    scale: int | None = None


MODIFIERS = frozenset({"SIGNED", "UNSIGNED", "ZEROFILL", "BINARY"})
"""Words that the schema history has after the name of a type."""

_NATIONAL = frozenset({JdbcType.NCHAR, JdbcType.NVARCHAR})
_WITH_CHARSET = frozenset({JdbcType.CHAR, JdbcType.VARCHAR, *_NATIONAL})
NATIONAL_CHARSET = "utf8"

# Synonyms, the first of them is the stored type.
_SYNONYMS: tuple[tuple[JdbcType, str], ...] = (
    (JdbcType.SMALLINT, "TINYINT|INT1"),
    (JdbcType.SMALLINT, "SMALLINT|INT2"),
    (JdbcType.INTEGER, "MEDIUMINT|INT3|MIDDLEINT"),
    (JdbcType.INTEGER, "INT|INTEGER|INT4"),
    (JdbcType.BIGINT, "BIGINT|INT8"),
    (JdbcType.INTEGER, "YEAR"),
    (JdbcType.BOOLEAN, "BOOLEAN|BOOL"),
    (JdbcType.FLOAT, "FLOAT|FLOAT4"),
    (JdbcType.DOUBLE, "DOUBLE|DOUBLE PRECISION|FLOAT8"),
    (JdbcType.REAL, "REAL"),
    (JdbcType.DATE, "DATE"),
    (JdbcType.TIME, "TIME"),
    (JdbcType.TIMESTAMP, "DATETIME"),
    (JdbcType.TIMESTAMP_WITH_TIMEZONE, "TIMESTAMP"),
    (JdbcType.CHAR, "CHAR|CHARACTER"),
    (JdbcType.VARCHAR, "VARCHAR|CHAR VARYING|CHARACTER VARYING"),
    (JdbcType.VARCHAR, "TINYTEXT"),
    (JdbcType.VARCHAR, "TEXT"),
    (JdbcType.VARCHAR, "MEDIUMTEXT|LONG|LONG VARCHAR|LONG CHAR VARYING|LONG CHARACTER VARYING"),
    (JdbcType.VARCHAR, "LONGTEXT"),
    (JdbcType.NCHAR, "CHAR|NCHAR|NATIONAL CHAR|NATIONAL CHARACTER"),
    (
        JdbcType.NVARCHAR,
        "VARCHAR|NVARCHAR|NATIONAL VARCHAR|NCHAR VARCHAR|NCHAR VARYING|NATIONAL CHAR VARYING|"
        "NATIONAL CHARACTER VARYING",
    ),
    (JdbcType.CHAR, "ENUM"),
    (JdbcType.CHAR, "SET"),
    (JdbcType.BINARY, "BINARY"),
    (JdbcType.VARBINARY, "VARBINARY"),
    (JdbcType.BLOB, "TINYBLOB"),
    (JdbcType.BLOB, "BLOB"),
    (JdbcType.BLOB, "MEDIUMBLOB|LONG VARBINARY"),
    (JdbcType.BLOB, "LONGBLOB"),
    (JdbcType.OTHER, "JSON"),
    (JdbcType.OTHER, "GEOMETRY"),
    (JdbcType.OTHER, "POINT"),
    (JdbcType.OTHER, "LINESTRING"),
    (JdbcType.OTHER, "POLYGON"),
    (JdbcType.OTHER, "MULTIPOINT"),
    (JdbcType.OTHER, "MULTILINESTRING"),
    (JdbcType.OTHER, "MULTIPOLYGON"),
    (JdbcType.OTHER, "GEOMETRYCOLLECTION|GEOMCOLLECTION"),
    (JdbcType.OTHER, "VECTOR"),
    (JdbcType.OTHER, "UUID"),
    (JdbcType.OTHER, "INET4"),
    (JdbcType.OTHER, "INET6"),
)


def _types() -> dict[str, TypeFacts]:
    types: dict[str, TypeFacts] = {}
    for jdbc, names in _SYNONYMS:
        stored, *others = names.split("|")
        facts = TypeFacts(jdbc, stored)
        types.setdefault(stored, facts)  # CHAR itself is not a national one
        types |= dict.fromkeys(others, facts)
    types["BIT"] = TypeFacts(JdbcType.BIT, "BIT", length=1)
    decimal = TypeFacts(JdbcType.DECIMAL, "DECIMAL", length=10, scale=0)
    types |= dict.fromkeys(("DECIMAL", "DEC", "FIXED"), decimal)
    types["NUMERIC"] = TypeFacts(JdbcType.NUMERIC, "DECIMAL", length=10, scale=0)
    return types


TYPES: Mapping[str, TypeFacts] = _types()
LONGEST_NAME = max(len(name.split()) for name in TYPES)
"""Words of the longest name of a type."""


def type_facts(written: str) -> TypeFacts:
    """Return the facts of a type as the schema history names it, with its modifiers.

    A type that is not known counts as one that JDBC has no number for.
    """
    words = written.upper().split()
    while len(words) > 1 and words[-1] in MODIFIERS:
        del words[-1]
    name = " ".join(words)
    return TYPES.get(name, TypeFacts(JdbcType.OTHER, name))


def has_charset(jdbc: JdbcType) -> bool:
    """Return whether a column of a type takes the character set of its table."""
    return jdbc in _WITH_CHARSET


def is_national(jdbc: JdbcType) -> bool:
    """Return whether a type always has the character set :data:`NATIONAL_CHARSET`."""
    return jdbc in _NATIONAL

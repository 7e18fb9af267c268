"""Column types of tables that a sink creates, and default values in their definition (Java: ``getSqlType``). Pure.

Java's types, but for texts and bytes in a primary key on MariaDB and MySQL, whose long types have no index.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from connect_dagster.connectors.jdbc.dialects import GENERIC, MYSQL, POSTGRESQL, Dialect
from connect_dagster.connectors.jdbc.sink.fields import SinkField
from connect_dagster.errors import ConnectError
from connect_dagster.plugin.schema import DATE, DECIMAL, TIME, TIMESTAMP, Schema, SchemaType

_Kinds = Mapping[SchemaType | str, str]
_S = SchemaType


def _row(
    int8: str, int16: str, int32: str, int64: str, float32: str, float64: str, boolean: str, string: str, bytes_: str,
    decimal: str, date: str, time: str, timestamp: str,
) -> _Kinds:  # fmt: skip
    return {
        _S.INT8: int8, _S.INT16: int16, _S.INT32: int32, _S.INT64: int64, _S.FLOAT32: float32, _S.FLOAT64: float64,
        _S.BOOLEAN: boolean, _S.STRING: string, _S.BYTES: bytes_,
        DECIMAL: decimal, DATE: date, TIME: time, TIMESTAMP: timestamp,
    }  # fmt: skip


_STANDARD = _row(
    "SMALLINT", "SMALLINT", "INTEGER", "BIGINT", "REAL", "DOUBLE PRECISION", "BOOLEAN", "VARCHAR(32672)", "BLOB",
    "DECIMAL(38,{scale})", "DATE", "TIME(3)", "TIMESTAMP",
)  # fmt: skip
_DB2 = _row(
    "SMALLINT", "SMALLINT", "INTEGER", "BIGINT", "FLOAT", "DOUBLE", "SMALLINT", "VARCHAR(32672)", "BLOB(64000)",
    "DECIMAL(31,{scale})", "DATE", "TIME", "TIMESTAMP",
)  # fmt: skip
_TYPES: Mapping[str, _Kinds] = {
    MYSQL: _row(
        "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "TINYINT", "TEXT", "VARBINARY(1024)",
        "DECIMAL(65,{scale})", "DATE", "TIME(3)", "DATETIME(3)",
    ),
    POSTGRESQL: _row(
        "SMALLINT", "SMALLINT", "INT", "BIGINT", "REAL", "DOUBLE PRECISION", "BOOLEAN", "TEXT", "BYTEA",
        "DECIMAL", "DATE", "TIME", "TIMESTAMP",
    ),
    "SqliteDatabaseDialect": _row(
        "INTEGER", "INTEGER", "INTEGER", "INTEGER", "REAL", "REAL", "INTEGER", "TEXT", "BLOB",
        "NUMERIC", "NUMERIC", "NUMERIC", "NUMERIC",
    ),
    "OracleDatabaseDialect": _row(
        "NUMBER(3,0)", "NUMBER(5,0)", "NUMBER(10,0)", "NUMBER(19,0)", "BINARY_FLOAT", "BINARY_DOUBLE", "NUMBER(1,0)",
        "VARCHAR2(4000)", "BLOB", "NUMBER(*,{scale})", "DATE", "DATE", "TIMESTAMP",
    ),
    "SqlServerDatabaseDialect": _row(
        "tinyint", "smallint", "int", "bigint", "real", "float", "bit", "varchar(max)", "varbinary(max)",
        "decimal(38,{scale})", "date", "time", "datetime2",
    ),
    "Db2DatabaseDialect": _DB2,
    "DerbyDatabaseDialect": _DB2,
    "SapHanaDatabaseDialect": _row(
        "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "REAL", "DOUBLE", "BOOLEAN", "VARCHAR(1000)", "BLOB",
        "DECIMAL", "DATE", "DATE", "TIMESTAMP",
    ),
    "VerticaDatabaseDialect": _row(
        "INT", "INT", "INT", "INT", "FLOAT", "FLOAT", "BOOLEAN", "VARCHAR(1024)", "VARBINARY(1024)",
        "DECIMAL(18,{scale})", "DATE", "TIME", "TIMESTAMP",
    ),
    "SybaseDatabaseDialect": _row(
        "smallint", "smallint", "int", "bigint", "real", "float", "tinyint", "text", "image",
        "decimal(38,{scale})", "date", "time", "datetime",
    ),
    GENERIC: _STANDARD,
}  # fmt: skip
_IN_KEYS: Mapping[str, Mapping[SchemaType, str]] = {
    MYSQL: {_S.STRING: "VARCHAR(255)", _S.BYTES: "VARBINARY(255)"},
    "SqlServerDatabaseDialect": {_S.STRING: "varchar(900)", _S.BYTES: "varbinary(900)"},
    "SybaseDatabaseDialect": {_S.STRING: "varchar(512)"},
}
# Their columns may be null unless declared NOT NULL, and NULL is an error.
_NO_NULL = frozenset({"Db2DatabaseDialect", "DerbyDatabaseDialect"})
_COUNTED: Mapping[str, str] = {
    MYSQL: "DATETIME(6)",
    "OracleDatabaseDialect": "TIMESTAMP(6)",
}


@dataclass(frozen=True, slots=True)
class ColumnTypes:
    """Definitions of columns in one dialect.

    Attributes:
        dialect: the kind.
        zone: ``db.timezone``, for default values.
    """

    dialect: Dialect
    zone: str

    def definition(self, field: SinkField, *, counted: bool) -> str:
        """Return a column's definition in ``CREATE TABLE``.

        Args:
            field: what it holds.
            counted: whether these are numbers that are written as points in time.

        Raises:
            ConnectError: the database has no type for it.
        """
        name = self.dialect.quoting.name(field.name)
        if field.default is not None:
            return f"{name} {self.type(field, counted=counted)} DEFAULT {self._default(field)}"
        optional = "" if self.dialect.name in _NO_NULL else " NULL"
        return f"{name} {self.type(field, counted=counted)}{optional if field.optional else ' NOT NULL'}"

    def type(self, field: SinkField, *, counted: bool = False) -> str:
        """Return the column's type. Raises ConnectError."""
        if counted:
            return _COUNTED.get(self.dialect.name, self._kinds[TIMESTAMP])
        return self._type(field.schema, is_key=field.is_key)

    @property
    def _kinds(self) -> _Kinds:
        return _TYPES.get(self.dialect.name, _STANDARD)

    def _type(self, schema: Schema, *, is_key: bool) -> str:
        if schema.type is SchemaType.ARRAY and self.dialect.is_postgresql:
            return f"{self._type(schema.item, is_key=is_key)}[]"
        found = self._kinds.get(schema.name or "") or self._kinds.get(schema.type)
        if found is None:
            raise ConnectError(
                f"{schema.name or 'null'} ({schema.type.name}) type doesn't have a mapping to the SQL database "
                "column type"
            )
        if is_key and schema.name not in self._kinds:
            found = _IN_KEYS.get(self.dialect.name, {}).get(schema.type, found)
        return found.format(scale=schema.scale) if "{scale}" in found else found

    def _default(self, field: SinkField) -> str:
        value: Any = field.default
        match value:
            case bool():
                return self._boolean(value)
            case int() if field.schema.name == TIME:
                return _quoted((dt.datetime.min + dt.timedelta(milliseconds=value)).time().isoformat("milliseconds"))
            case int() | float():
                return str(value)
            case Decimal():
                return f"{value:f}"
            case dt.datetime():
                return _quoted(self._on_the_wall(value).isoformat(" ", "milliseconds"))
            case dt.date() | dt.time():
                return _quoted(value.isoformat())
            case bytes():
                return f"'\\x{value.hex()}'" if self.dialect.is_postgresql else f"x'{value.hex()}'"
            case str():
                # MariaDB and MySQL take a backslash for the beginning of an escape.
                return _quoted(value.replace("\\", "\\\\") if self.dialect.is_mysql else value)
        raise ConnectError(f"Unsupported type for column value: {field.schema.type.name}")

    def _boolean(self, value: bool) -> str:
        if self.dialect.is_postgresql:
            return "TRUE" if value else "FALSE"
        return "1" if value else "0"

    def _on_the_wall(self, instant: dt.datetime) -> dt.datetime:
        aware = instant if instant.tzinfo else instant.replace(tzinfo=dt.UTC)
        return aware.astimezone(ZoneInfo(self.zone)).replace(tzinfo=None)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"

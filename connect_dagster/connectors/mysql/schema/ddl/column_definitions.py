"""Definitions of columns: a type, then attributes in any order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from connect_dagster.connectors.mysql.flavor import Flavor
from connect_dagster.connectors.mysql.schema.collations import charset_of_collation
from connect_dagster.connectors.mysql.schema.ddl.column_type import accept_charset, accept_collation, column_type
from connect_dagster.connectors.mysql.schema.ddl.default_values import NOW, default_value, is_now, skip_now
from connect_dagster.connectors.mysql.schema.ddl.token_reader import TokenReader
from connect_dagster.connectors.mysql.schema.model import Column


@dataclass(frozen=True, slots=True)
class ColumnDefinition:
    """A column, and the key that its definition makes of it."""

    column: Column
    is_primary: bool = False
    is_unique: bool = False


@dataclass(frozen=True, slots=True)
class ColumnReader:
    """Reads definitions of columns.

    Args:
        flavor: MySQL's connector takes ``ON UPDATE CURRENT_TIMESTAMP`` for an increment, that of MariaDB only where
            the time of an insert is not the default value.
        keeps_comments: ``include.schema.comments``.
    """

    flavor: Flavor
    keeps_comments: bool

    def definition(self, read: TokenReader, name: str) -> ColumnDefinition:
        """Pass the type and the attributes of a column, and return what they define.

        Raises:
            DataError: they are not understood.
        """
        return _Attributes(self, read, name).definition()


class _Attributes:
    """The attributes of one column as they are read."""

    def __init__(self, settings: ColumnReader, read: TokenReader, name: str) -> None:
        self._settings = settings
        self._read = read
        is_serial = read.accept("SERIAL")
        kind = None if is_serial else column_type(read)
        self._column = (
            Column(name, "BIGINT UNSIGNED")
            if kind is None
            else Column(name, kind.name, kind.length, kind.scale, charset=kind.charset, labels=kind.labels)
        )
        self._optional: bool | None = None
        self._is_primary = self._is_unique = False
        if is_serial:
            self._serial()

    def definition(self) -> ColumnDefinition:
        while self._accept_attribute():
            pass
        optional = self._optional is not False
        has_default = self._column.has_default or optional
        column = replace(self._column, optional=optional, has_default=has_default)
        return ColumnDefinition(column, self._is_primary, self._is_unique)

    def _accept_attribute(self) -> bool:
        """Pass an attribute where one is next, and return whether there was."""
        return self._accept_nullability() or self._accept_value() or self._accept_key() or self._accept_rest()

    def _accept_nullability(self) -> bool:
        if self._read.accept("NOT", "NULL"):
            self._optional = False
        elif self._read.accept("NULL"):
            self._optional = True
        else:
            return False
        return True

    def _accept_value(self) -> bool:
        read = self._read
        if read.accept("DEFAULT"):
            found = default_value(read)
            if not found.is_null:
                self._column = replace(self._column, has_default=True, default=found.text)
        elif read.accept("SERIAL", "DEFAULT", "VALUE"):
            self._serial()
        elif read.accept("AUTO_INCREMENT"):
            self._column = replace(self._column, auto_incremented=True)
        elif read.accept("ON", "UPDATE"):
            if not is_now(read):
                raise read.failure("CURRENT_TIMESTAMP")
            skip_now(read)
            if self._settings.flavor is Flavor.MYSQL or self._column.default != NOW:
                self._column = replace(self._column, auto_incremented=True)
        elif read.accept("GENERATED", "ALWAYS", "AS", "ROW"):
            read.next()  # START or END
        elif read.accept("GENERATED", "ALWAYS", "AS") or read.accept("AS"):
            read.skip_parentheses()
            read.accept_any("VIRTUAL", "STORED", "PERSISTENT")
        else:
            return False
        return True

    def _accept_key(self) -> bool:
        if self._read.accept("UNIQUE"):
            self._read.accept("KEY")
            self._is_unique = True
        elif self._read.accept("PRIMARY", "KEY") or self._read.accept("KEY"):
            self._is_primary = True
            self._optional = False
        else:
            return False
        return True

    def _accept_rest(self) -> bool:
        read = self._read
        if read.accept("COMMENT"):
            text = read.string().content
            if self._settings.keeps_comments:
                self._column = replace(self._column, comment=text)
        elif (collation := accept_collation(read)) is not None:
            self._set_charset(charset_of_collation(collation))
        elif (charset := accept_charset(read)) is not None:
            self._set_charset(charset)
        elif read.accept("REFERENCES"):
            skip_reference(read)
        elif _accept_check(read):
            pass
        else:
            return _accept_without_effect(read)
        return True

    def _set_charset(self, charset: str | None) -> None:
        self._column = replace(self._column, charset=self._column.charset or charset)

    def _serial(self) -> None:
        self._optional = False if self._optional is None else self._optional
        self._is_unique = True
        self._column = replace(self._column, auto_incremented=True)


def skip_reference(read: TokenReader) -> None:
    """Pass the table and the columns that a foreign key refers to, and its actions.

    Raises:
        DataError: they are not understood.
    """
    read.table(None)
    if read.sees("("):
        read.skip_parentheses()
    if read.accept("MATCH"):
        read.next()
    while read.accept("ON", "DELETE") or read.accept("ON", "UPDATE"):
        read.next()  # RESTRICT, CASCADE, or the first word of SET NULL, SET DEFAULT, NO ACTION
        read.accept_any("NULL", "DEFAULT", "ACTION")


def _accept_check(read: TokenReader) -> bool:
    if read.accept("CONSTRAINT"):
        if not read.sees("CHECK"):
            read.name()
    elif not read.sees("CHECK"):
        return False
    skip_check(read)
    return True


def skip_check(read: TokenReader) -> None:
    """Pass a check of values.

    Raises:
        DataError: there is none.
    """
    read.expect("CHECK")
    read.skip_parentheses()
    read.accept("NOT", "ENFORCED")
    read.accept("ENFORCED")


_WITHOUT_EFFECT: Mapping[tuple[str, ...], int] = {
    ("NOT", "SECONDARY"): 0,
    ("VISIBLE",): 0,
    ("INVISIBLE",): 0,
    ("COMPRESSED",): 0,
    ("WITH", "SYSTEM", "VERSIONING"): 0,
    ("WITHOUT", "SYSTEM", "VERSIONING"): 0,
    ("COLUMN_FORMAT",): 1,
    ("STORAGE",): 1,
    ("SRID",): 1,
    ("REF_SYSTEM_ID",): 1,
    ("ENGINE_ATTRIBUTE",): 1,
    ("SECONDARY_ENGINE_ATTRIBUTE",): 1,
}
"""Attributes that concern neither values nor keys, and how many tokens of theirs follow."""


def _accept_without_effect(read: TokenReader) -> bool:
    for words, values in _WITHOUT_EFFECT.items():
        if read.accept(*words):
            if read.accept("="):
                values = 1
            for _ in range(values):
                read.next()
            return True
    return False

"""Applies statements to the tables that are known, and says what they change.

The model follows Debezium's parser (``MySqlAntlrDdlParser``, ``MariaDbAntlrDdlParser``) in what records and the schema
history show: names of types, lengths, keys, nullability, default values. It follows the server where Debezium's model
would misread rows or lose a table: character sets by collations and by ``ALTER TABLE … DEFAULT CHARSET``, version
comments, temporary tables, ``CREATE OR REPLACE TABLE``, names before ``ALTER TABLE … RENAME``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from connect_dagster.connectors.mysql.flavor import Flavor
from connect_dagster.connectors.mysql.schema.ddl.alter_table import TableAlteration
from connect_dagster.connectors.mysql.schema.ddl.column_definitions import ColumnReader
from connect_dagster.connectors.mysql.schema.ddl.create_table import created_table
from connect_dagster.connectors.mysql.schema.ddl.events import DdlEvent, DdlKind
from connect_dagster.connectors.mysql.schema.ddl.keys import key_parts
from connect_dagster.connectors.mysql.schema.ddl.table_options import table_options
from connect_dagster.connectors.mysql.schema.ddl.token_reader import TokenReader
from connect_dagster.connectors.mysql.schema.ddl.variables import (
    CHARSET_DATABASE,
    CHARSET_SERVER,
    CharsetVariables,
    assignments,
)
from connect_dagster.connectors.mysql.schema.model import Table, Tables
from connect_dagster.connectors.mysql.table_ids import TableId, quoted

_DATABASE_WORDS = ("DATABASE", "SCHEMA")
_TABLE_WORDS = ("TABLE", "TABLES")
_ROUTINES = frozenset({"PROCEDURE", "FUNCTION", "TRIGGER", "EVENT", "PACKAGE"})


class DdlParser:
    """A parser, and what it remembers from statement to statement: the current database and character sets.

    Args:
        tables: what statements are applied to.
        flavor: the kind of server that they were written for.
        keeps_comments: whether tables and columns have comments (``include.schema.comments``).
        server_charset: the server's ``character_set_server``.
    """

    def __init__(
        self, tables: Tables, flavor: Flavor, *, keeps_comments: bool = False, server_charset: str | None = None
    ) -> None:
        self.tables = tables
        self._columns = ColumnReader(flavor, keeps_comments)
        self._charsets = CharsetVariables(server_charset)
        self._database: str | None = None

    def parse(self, statements: str, database: str | None) -> list[DdlEvent]:
        """Apply statements, and return their changes in order.

        There are none for statements that do not concern tables or databases, and for tables that are not known.

        Args:
            statements: one, or several with semicolons between them.
            database: the current one; empty or ``None`` where the client had none.

        Raises:
            DataError: a statement about tables is not understood, or contradicts the tables that are known; those
                before it are applied.
        """
        self._database = database or None
        read = TokenReader(statements)
        events: list[DdlEvent] = []
        while not read.at_end:
            events += self._statement(read)
            read.skip_statement()
            read.accept(";")
        return events

    def _statement(self, read: TokenReader) -> list[DdlEvent]:
        start = read.token.start
        verbs: Mapping[str, Callable[[TokenReader, int], list[DdlEvent]]] = {
            "CREATE": self._create,
            "ALTER": self._alter,
            "DROP": self._drop,
            "RENAME": self._rename,
            "TRUNCATE": self._truncate,
            "USE": self._use,
            "SET": self._set,
        }
        verb = read.accept_any(*verbs)
        return [] if verb is None else verbs[verb](read, start)

    def _create(self, read: TokenReader, start: int) -> list[DdlEvent]:
        replaces = read.accept("OR", "REPLACE")
        if read.accept_any(*_DATABASE_WORDS):
            return self._create_database(read, start)
        if read.accept("TABLE"):
            return self._create_table(read, start, replaces=replaces)
        read.accept_any("ONLINE", "OFFLINE")
        if read.accept("UNIQUE"):
            return self._create_unique_index(read, start)
        return self._of_no_table(read)

    def _of_no_table(self, read: TokenReader) -> list[DdlEvent]:
        """Pass a statement with all that its body has, which may be several statements."""
        while not read.at_statement_end:
            if read.next().text.upper() in _ROUTINES:
                read.skip_all()
        return []

    def _create_database(self, read: TokenReader, start: int) -> list[DdlEvent]:
        read.accept("IF", "NOT", "EXISTS")
        return self._database_options(read, start, read.name(), DdlKind.DATABASE)

    def _database_options(self, read: TokenReader, start: int, name: str, kind: DdlKind) -> list[DdlEvent]:
        charset = table_options(read).charset
        if charset is not None:
            self.tables.set_charset(name, charset)
        return [DdlEvent(kind, name, read.text_from(start))]

    def _create_table(self, read: TokenReader, start: int, *, replaces: bool) -> list[DdlEvent]:
        if_new = read.accept("IF", "NOT", "EXISTS")
        name = read.table(self._database)
        is_known = self.tables.get(name) is not None
        if read.accept("LIKE") or read.accept("(", "LIKE"):
            table, keeps = self._copied(read, name), if_new and is_known
        else:
            table = created_table(read, name, self._columns, self._charset_of(name))
            keeps = is_known and not replaces
        if table is None or keeps:
            return []
        self.tables.put(table)
        return [_of_table(DdlKind.CREATE_TABLE, name, read.text_from(start), table)]

    def _copied(self, read: TokenReader, name: TableId) -> Table | None:
        original = self.tables.get(read.table(self._database))
        read.skip_statement()
        return None if original is None else replace(original, database=name.database, name=name.name)

    def _create_unique_index(self, read: TokenReader, start: int) -> list[DdlEvent]:
        read.expect("INDEX")
        read.accept("IF", "NOT", "EXISTS")
        read.name()
        read.skip_to("ON")  # after the kind of the index
        read.expect("ON")
        name = read.table(self._database)
        while not read.at_statement_end and not read.sees("("):
            read.next()  # how long to wait
        key = key_parts(read, is_primary=False)
        read.skip_statement()
        table = self.tables.get(name)
        if table is None or table.key or not key.fits(table):
            return []
        indexed = key.apply(read, table)
        self.tables.put(indexed)
        return [_of_table(DdlKind.ALTER_TABLE, name, read.text_from(start), indexed)]

    def _alter(self, read: TokenReader, start: int) -> list[DdlEvent]:
        if read.accept_any(*_DATABASE_WORDS):
            return self._alter_database(read, start)
        read.accept_any("ONLINE", "OFFLINE")
        read.accept("IGNORE")
        return self._alter_table(read, start) if read.accept("TABLE") else self._of_no_table(read)

    def _alter_database(self, read: TokenReader, start: int) -> list[DdlEvent]:
        is_current = read.sees_any("DEFAULT", "CHARACTER", "CHARSET", "COLLATE", "COMMENT", "READ", "ENCRYPTION")
        name = self._database if is_current else read.name()
        return [] if name is None else self._database_options(read, start, name, DdlKind.OTHER)

    def _alter_table(self, read: TokenReader, start: int) -> list[DdlEvent]:
        read.accept("IF", "EXISTS")
        name = read.table(self._database)
        _skip_wait(read)
        table = self.tables.get(name)
        if table is None:
            return []
        altered = TableAlteration(read, table, self._columns, self._charset_of(name), self._database).altered()
        previous = None if altered.id == table.id else table.id
        self.tables.remove(table.id)
        self.tables.put(altered)
        return [_of_table(DdlKind.ALTER_TABLE, altered.id, read.text_from(start), altered, previous)]

    def _drop(self, read: TokenReader, start: int) -> list[DdlEvent]:
        if read.accept_any(*_DATABASE_WORDS):
            return self._drop_database(read, start)
        return self._drop_tables(read, start) if read.accept_any(*_TABLE_WORDS) else []

    def _drop_database(self, read: TokenReader, start: int) -> list[DdlEvent]:
        read.accept("IF", "EXISTS")
        name = read.name()
        self.tables.remove_database(name)
        return [DdlEvent(DdlKind.DATABASE, name, read.text_from(start))]

    def _drop_tables(self, read: TokenReader, start: int) -> list[DdlEvent]:
        read.accept("IF", "EXISTS")
        prefix = read.text_from(start, read.token.start)
        names = [read.table(self._database)]
        while read.accept(","):
            names.append(read.table(self._database))
        _skip_wait(read)
        behavior = read.accept_any("RESTRICT", "CASCADE")
        if not read.at_statement_end:
            raise read.failure("a comma or the end of the statement")
        for name in names:
            self.tables.remove(name)
        suffix = "" if behavior is None else f" {behavior}"
        return [_of_table(DdlKind.DROP_TABLE, name, f"{prefix}{_quoted(name)}{suffix}") for name in names]

    def _rename(self, read: TokenReader, start: int) -> list[DdlEvent]:
        if not read.accept_any(*_TABLE_WORDS):
            return []
        read.accept("IF", "EXISTS")
        prefix = read.text_from(start, read.token.start)
        pairs = [self._rename_pair(read)]
        while read.accept(","):
            pairs.append(self._rename_pair(read))
        if not read.at_statement_end:
            raise read.failure("a comma or the end of the statement")
        return [self._rename_table(before, after, f"{prefix}{text}") for before, after, text in pairs]

    def _rename_pair(self, read: TokenReader) -> tuple[TableId, TableId, str]:
        start = read.token.start
        before = read.table(self._database)
        _skip_wait(read)
        read.expect("TO")
        return before, read.table(self._database), read.text_from(start)

    def _rename_table(self, before: TableId, after: TableId, statement: str) -> DdlEvent:
        table = self.tables.get(before)
        self.tables.remove(before)
        if table is not None:
            table = replace(table, database=after.database, name=after.name)
            self.tables.put(table)
        return _of_table(DdlKind.ALTER_TABLE, after, statement, table, previous=before)

    def _truncate(self, read: TokenReader, start: int) -> list[DdlEvent]:
        read.accept("TABLE")
        name = read.table(self._database)
        _skip_wait(read)
        return [_of_table(DdlKind.TRUNCATE_TABLE, name, read.text_from(start), self.tables.get(name))]

    def _use(self, read: TokenReader, start: int) -> list[DdlEvent]:
        self._database = read.name()
        self._charsets.database = self.tables.charset(self._database)
        return [DdlEvent(DdlKind.DATABASE, self._database, read.text_from(start))]

    def _set(self, read: TokenReader, start: int) -> list[DdlEvent]:
        if read.accept("STATEMENT"):
            read.skip_to("FOR")
            read.expect("FOR")
            return self._statement(read)
        found = assignments(read)
        for assignment in found:
            if not assignment.is_global:
                self._set_variable(assignment.name, assignment.value)
        return [DdlEvent(DdlKind.DATABASE, self._database or "", read.text_from(start))] if found else []

    def _set_variable(self, name: str, value: str) -> None:
        if name == CHARSET_SERVER:
            self._charsets.server = value
        elif name == CHARSET_DATABASE:
            self._charsets.database = value
            if self._database is not None:
                self.tables.set_charset(self._database, value)

    def _charset_of(self, table: TableId) -> str | None:
        return self.tables.charset(table.database) or self._charsets.of_new_tables()


def _skip_wait(read: TokenReader) -> None:
    """Pass how long MariaDB waits for a lock."""
    if read.accept("WAIT"):
        read.next()
    read.accept("NOWAIT")


def _of_table(
    kind: DdlKind, table_id: TableId, statement: str, table: Table | None = None, previous: TableId | None = None
) -> DdlEvent:
    return DdlEvent(kind, table_id.database, statement, table_id, previous, table)


def _quoted(table: TableId) -> str:
    parts = [quoted(part) for part in table if part]
    return ".".join(parts)

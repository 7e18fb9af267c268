"""``ALTER TABLE``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from connect_dagster.connectors.mysql.flavor import Flavor
from connect_dagster.connectors.mysql.schema.ddl.column_definitions import ColumnReader
from connect_dagster.connectors.mysql.schema.ddl.column_type import accept_charset, accept_collation
from connect_dagster.connectors.mysql.schema.ddl.create_table import add_elements, with_column_key
from connect_dagster.connectors.mysql.schema.ddl.default_values import default_value
from connect_dagster.connectors.mysql.schema.ddl.keys import constraint, sees_constraint
from connect_dagster.connectors.mysql.schema.ddl.table_options import resolved_charset, table_options
from connect_dagster.connectors.mysql.schema.ddl.token_reader import TokenReader
from connect_dagster.connectors.mysql.schema.model import Column, Table
from connect_dagster.connectors.mysql.schema.table_edits import (
    ColumnPlace,
    change_column,
    convert_to,
    drop_column,
    move_column,
    put_column,
    with_charsets,
)
from connect_dagster.errors import DataError

_OPTION_WORDS = (
    "ALGORITHM ANALYZE AUTO_INCREMENT AUTOEXTEND_SIZE AVG_ROW_LENGTH CHARACTER CHAR CHARSET CHECK CHECKSUM "
    "COALESCE COLLATE COMMENT COMPRESSION CONNECTION DATA DEFAULT DELAY_KEY_WRITE DISABLE DISCARD ENABLE "
    "ENCRYPTED ENCRYPTION ENCRYPTION_KEY_ID ENGINE ENGINE_ATTRIBUTE EXCHANGE FORCE IETF_QUOTES IMPORT INDEX "
    "INSERT_METHOD KEY_BLOCK_SIZE LOCK MAX_ROWS MIN_ROWS OPTIMIZE ORDER PACK_KEYS PAGE_CHECKSUM PAGE_COMPRESSED "
    "PAGE_COMPRESSION_LEVEL PARTITION PASSWORD REBUILD REMOVE REORGANIZE REPAIR ROW_FORMAT SECONDARY_ENGINE "
    "SECONDARY_ENGINE_ATTRIBUTE SECONDARY_LOAD SECONDARY_UNLOAD SEQUENCE START STATS_AUTO_RECALC STATS_PERSISTENT "
    "STATS_SAMPLE_PAGES STORAGE TABLESPACE TRANSACTIONAL TRUNCATE TYPE UNION UPGRADE WITH WITHOUT "
)
_OPTIONS = frozenset(_OPTION_WORDS.split())
"""First words of options, and of changes that concern neither columns nor keys."""


@dataclass(slots=True)
class TableAlteration:
    """The changes of one statement to a table, which it has after each of them.

    Args:
        read: passed the name of the table.
        table: before the changes.
        columns: reads definitions of columns.
        charset: of the table's database.
        database: the current one, which a new name without a database is in.

    Attributes:
        converted: character set that all texts have at the end; ``None`` for that of each.
        default: character set of texts to come, which goes before ``converted``; ``None`` where none is given.
    """

    read: TokenReader
    table: Table
    columns: ColumnReader
    charset: str | None
    database: str | None
    converted: str | None = None
    default: str | None = None

    def altered(self) -> Table:
        """Pass all changes, and return the table after them.

        Raises:
            DataError: one of them is not understood, or does not fit the table.
        """
        if not self.read.at_statement_end:
            self._change()
        while self.read.accept(","):
            self._change()
        if self.read.sees_any("PARTITION", "REMOVE"):
            self.read.skip_statement()
        if not self.read.at_statement_end:
            raise self.read.failure("a comma or the end of the statement")
        if self.converted is not None:
            # Also columns that the same statement adds, and names another character set for.
            table = convert_to(with_charsets(self.table), self.converted)
            return replace(table, charset=self.default or self.converted)
        return with_charsets(self.table)

    def _change(self) -> None:
        read = self.read
        changes: Mapping[str, Callable[[], None]] = {
            "ADD": self._add,
            "DROP": self._drop,
            "MODIFY": self._modify,
            "CHANGE": self._change_column,
            "ALTER": self._alter,
            "RENAME": self._rename,
            "CONVERT": self._convert,
        }
        word = read.accept_any(*changes)
        if word is not None:
            changes[word]()
        elif set(read.words(1)) & _OPTIONS:
            self._options()
        else:
            raise read.failure("a change of the table")

    def _add(self) -> None:
        read = self.read
        if read.accept("PARTITION") or read.accept("SYSTEM", "VERSIONING"):
            read.skip_to(",")
            return
        if sees_constraint(read):
            key = constraint(read)
            self.table = self.table if key is None else key.apply(read, self.table)
            return
        read.accept("COLUMN")
        if_new = read.accept("IF", "NOT", "EXISTS")
        if read.sees("("):
            self.table, keys = add_elements(read, self.table, self.columns, column_keys=self._has_column_keys)
            for key in keys:
                self.table = key.apply(read, self.table)
            return
        name = read.name()
        self._define(name, name, keeps=if_new and self.table.find(name) is not None)

    def _modify(self) -> None:
        self.read.accept("COLUMN")
        if_known = self.read.accept("IF", "EXISTS")
        name = self.read.name()
        self._define_known(name, name, if_known=if_known)

    def _change_column(self) -> None:
        self.read.accept("COLUMN")
        if_known = self.read.accept("IF", "EXISTS")
        old = self.read.name()
        self._define_known(old, self.read.name(), if_known=if_known)

    def _define_known(self, old: str, new: str, *, if_known: bool) -> None:
        is_known = self.table.find(old) is not None
        if not is_known and not if_known:
            raise self._unknown(old)
        self._define(old, new, keeps=not is_known)

    def _define(self, old: str, new: str, *, keeps: bool) -> None:
        """Pass the definition and the place of a column.

        Args:
            old: name of the column before.
            new: name of the column after.
            keeps: whether the table stays as it is.
        """
        definition = self.columns.definition(self.read, new)
        place = self._place()
        if keeps:
            return
        known = self.table.find(old) is not None
        edited = (
            change_column(self.table, old, definition.column) if known else put_column(self.table, definition.column)
        )
        edited = with_column_key(edited, definition, column_keys=self._has_column_keys)
        self.table = edited if place is None else move_column(edited, new, place)

    def _place(self) -> ColumnPlace | None:
        if self.read.accept("FIRST"):
            return ColumnPlace()
        return ColumnPlace(self.read.name()) if self.read.accept("AFTER") else None

    def _drop(self) -> None:
        read = self.read
        if read.accept("PRIMARY", "KEY"):
            self.table = replace(self.table, key=())
        elif read.accept_any("FOREIGN", "INDEX", "KEY", "CHECK", "CONSTRAINT", "PARTITION", "SYSTEM"):
            read.skip_to(",")
        elif read.accept("PERIOD", "FOR"):
            read.next()
        else:
            read.accept("COLUMN")
            read.accept("IF", "EXISTS")
            self.table = drop_column(self.table, read.name())
            read.accept_any("RESTRICT", "CASCADE")

    def _alter(self) -> None:
        read = self.read
        if read.accept_any("INDEX", "KEY", "CHECK", "CONSTRAINT"):
            read.skip_to(",")
            return
        read.accept("COLUMN")
        read.accept("IF", "EXISTS")
        column = self.table.find(read.name())
        if read.accept("DROP", "DEFAULT"):
            self._set_default(column, has_default=False)
        elif read.accept("SET", "DEFAULT"):
            self._set_default(column, has_default=True, text=default_value(read).text)
        else:
            read.expect("SET")
            read.next()  # VISIBLE or INVISIBLE

    def _set_default(self, column: Column | None, *, has_default: bool, text: str | None = None) -> None:
        if column is not None:
            has_default = has_default or column.optional
            self.table = put_column(self.table, replace(column, has_default=has_default, default=text))

    def _rename(self) -> None:
        read = self.read
        if read.accept_any("INDEX", "KEY"):
            read.skip_to(",")
        elif read.accept("COLUMN"):
            if_known = read.accept("IF", "EXISTS")
            old = read.name()
            read.expect("TO")
            new = read.name()
            column = self.table.find(old)
            if column is not None:
                self.table = change_column(self.table, old, replace(column, name=new))
            elif not if_known:
                raise self._unknown(old)
        else:
            read.accept_any("TO", "AS", "=")
            renamed = read.table(self.database)
            self.table = replace(self.table, database=renamed.database, name=renamed.name)

    def _convert(self) -> None:
        read = self.read
        if not read.accept("TO"):
            read.skip_to(",")  # partitions into tables and back
            return
        charset = accept_charset(read)
        if charset is None:
            raise read.failure("CHARACTER SET")
        self.converted = resolved_charset(charset, accept_collation(read)) or self.charset

    def _options(self) -> None:
        options = table_options(self.read, ",")
        comment = options.comment if self.columns.keeps_comments else None
        self.default = options.charset or self.default
        self.table = replace(
            self.table,
            charset=options.charset or self.table.charset,
            comment=self.table.comment if comment is None else comment,
        )

    @property
    def _has_column_keys(self) -> bool:
        """Return whether a unique index in the definition of a column may stand in for a missing primary key.

        With MySQL's connector it does in CREATE TABLE only.
        """
        return self.columns.flavor is Flavor.MARIADB

    def _unknown(self, column: str) -> DataError:
        return self.read.contradiction(f"{self.table.id} has no column {column}")

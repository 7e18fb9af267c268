"""Names of tables, quoted and not."""

import pytest

from connect_dagster.connectors.jdbc.identifiers import Quoting, TableId
from connect_dagster.errors import ConnectError

MYSQL = Quoting("`", "`")
STANDARD = Quoting()


@pytest.mark.parametrize(
    ("quoting", "text", "catalogs", "table"),
    [
        (MYSQL, "customers", True, TableId("customers")),
        (MYSQL, "kafkadb.customers", True, TableId("customers", None, "kafkadb")),
        (MYSQL, "`kafkadb`.`a.b`", True, TableId("a.b", None, "kafkadb")),
        (STANDARD, "public.t", False, TableId("t", "public")),
        (STANDARD, '"db"."public"."say ""hi"""', False, TableId('say "hi"', "public", "db")),
        (Quoting("[", "]"), "[dbo].[my table]", False, TableId("my table", "dbo")),
    ],
)
def test_parse(quoting: Quoting, text: str, catalogs: bool, table: TableId) -> None:
    assert quoting.parse(text, catalogs=catalogs) == table


@pytest.mark.parametrize("text", ["", "a.b.c.d", "a..b"])
def test_what_is_no_name(text: str) -> None:
    with pytest.raises(ConnectError, match="Invalid fully qualified name"):
        STANDARD.parse(text)


def test_tables_of_a_task_are_read_as_they_were_written() -> None:
    tables = [TableId("a,b", None, "x"), TableId("c`d", None, "x"), TableId("e", None, "x.y")]
    text = MYSQL.tables(tables)
    assert text == "`x`.`a,b`,`x`.`c``d`,`x.y`.`e`"
    assert MYSQL.parse_tables(text, catalogs=True) == tables


def test_columns() -> None:
    table = TableId("t", "s")
    assert STANDARD.column(table, "a") == '"s"."t"."a"'
    assert STANDARD.column(None, "a") == '"a"'
    assert Quoting(always=False).column(table, "a") == "s.t.a"

"""Definitions of columns as the schema history of Debezium 3.6.1 (MariaDB: 3.5.0) has them."""

from dataclasses import replace

import pytest

from connect_dagster.connectors.mysql.flavor import Flavor
from connect_dagster.connectors.mysql.schema.column_types import JdbcType
from connect_dagster.connectors.mysql.schema.ddl.parser import DdlParser
from connect_dagster.connectors.mysql.schema.model import Column, Table, Tables
from connect_dagster.errors import DataError

J = JdbcType
NOW = "1970-01-01 00:00:00"


def created(definition: str, flavor: Flavor = Flavor.MYSQL) -> Table:
    tables = Tables()
    parser = DdlParser(tables, flavor, keeps_comments=True, server_charset="utf8mb4")
    parser.parse(f"CREATE TABLE t (c {definition})", "d")
    return next(iter(tables))


@pytest.mark.parametrize(
    ("written", "name", "jdbc", "length", "scale", "stored"),
    [
        ("TINYINT", "TINYINT", J.SMALLINT, None, None, "TINYINT"),
        ("TINYINT(1) UNSIGNED ZEROFILL", "TINYINT UNSIGNED ZEROFILL", J.SMALLINT, 1, None, "TINYINT"),
        ("BOOL", "BOOL", J.BOOLEAN, None, None, "BOOLEAN"),
        ("SMALLINT SIGNED", "SMALLINT SIGNED", J.SMALLINT, None, None, "SMALLINT"),
        ("INT1", "INT1", J.SMALLINT, None, None, "TINYINT"),
        ("INT2", "INT2", J.SMALLINT, None, None, "SMALLINT"),
        ("MIDDLEINT", "MIDDLEINT", J.INTEGER, None, None, "MEDIUMINT"),
        ("int(11) unsigned", "INT UNSIGNED", J.INTEGER, 11, None, "INT"),
        ("INTEGER", "INTEGER", J.INTEGER, None, None, "INT"),
        ("INT8", "INT8", J.BIGINT, None, None, "BIGINT"),
        ("BIGINT ZEROFILL", "BIGINT UNSIGNED ZEROFILL", J.BIGINT, None, None, "BIGINT"),
        ("INT ZEROFILL UNSIGNED", "INT UNSIGNED ZEROFILL", J.INTEGER, None, None, "INT"),
        ("FLOAT(7,4)", "FLOAT", J.FLOAT, 7, 4, "FLOAT"),
        ("FLOAT(30) UNSIGNED", "FLOAT UNSIGNED", J.FLOAT, 30, None, "FLOAT"),
        ("FLOAT8", "FLOAT8", J.DOUBLE, None, None, "DOUBLE"),
        ("DOUBLE PRECISION(8,3)", "DOUBLE PRECISION", J.DOUBLE, 8, 3, "DOUBLE"),
        ("REAL", "REAL", J.REAL, None, None, "REAL"),
        ("DECIMAL", "DECIMAL", J.DECIMAL, 10, 0, "DECIMAL"),
        ("DECIMAL(8) UNSIGNED", "DECIMAL UNSIGNED", J.DECIMAL, 8, 0, "DECIMAL"),
        ("DECIMAL(19.5)", "DECIMAL", J.DECIMAL, 19, 0, "DECIMAL"),
        ("DECIMAL(0)", "DECIMAL", J.DECIMAL, 10, 0, "DECIMAL"),
        ("DEC(5,2)", "DEC", J.DECIMAL, 5, 2, "DECIMAL"),
        ("FIXED", "FIXED", J.DECIMAL, 10, 0, "DECIMAL"),
        ("NUMERIC(6,1)", "NUMERIC", J.NUMERIC, 6, 1, "DECIMAL"),
        ("BIT", "BIT", J.BIT, 1, None, "BIT"),
        ("BIT(12)", "BIT", J.BIT, 12, None, "BIT"),
        ("TIME(3)", "TIME", J.TIME, 3, None, "TIME"),
        ("TIMESTAMP(6)", "TIMESTAMP", J.TIMESTAMP_WITH_TIMEZONE, 6, None, "TIMESTAMP"),
        ("DATETIME", "DATETIME", J.TIMESTAMP, None, None, "DATETIME"),
        ("DATE", "DATE", J.DATE, None, None, "DATE"),
        ("YEAR(4)", "YEAR", J.INTEGER, 4, None, "YEAR"),
        ("BINARY", "BINARY", J.BINARY, None, None, "BINARY"),
        ("VARBINARY(20)", "VARBINARY", J.VARBINARY, 20, None, "VARBINARY"),
        ("BLOB(100)", "BLOB", J.BLOB, 100, None, "BLOB"),
        ("LONG VARBINARY", "LONG VARBINARY", J.BLOB, None, None, "MEDIUMBLOB"),
        ("JSON", "JSON", J.OTHER, None, None, "JSON"),
        ("GEOMCOLLECTION", "GEOMCOLLECTION", J.OTHER, None, None, "GEOMETRYCOLLECTION"),
        ("VECTOR(3)", "VECTOR", J.OTHER, 3, None, "VECTOR"),
    ],
)
def test_types_without_charset(
    written: str, name: str, jdbc: JdbcType, length: int | None, scale: int | None, stored: str
) -> None:
    column = created(written).column("c")
    assert column == Column("c", name, length, scale, has_default=True)
    assert (column.jdbc_type, column.base_type) == (jdbc, stored)


@pytest.mark.parametrize(
    ("written", "name", "jdbc", "length", "charset", "stored"),
    [
        ("CHAR", "CHAR", J.CHAR, None, "utf8mb4", "CHAR"),
        ("CHARACTER(5)", "CHARACTER", J.CHAR, 5, "utf8mb4", "CHAR"),
        ("CHAR VARYING(20)", "CHAR VARYING", J.VARCHAR, 20, "utf8mb4", "VARCHAR"),
        ("VARCHAR(99999999999)", "VARCHAR", J.VARCHAR, 2147483647, "utf8mb4", "VARCHAR"),
        ("LONG VARCHAR", "LONG VARCHAR", J.VARCHAR, None, "utf8mb4", "MEDIUMTEXT"),
        ("TEXT(1000)", "TEXT", J.VARCHAR, 1000, "utf8mb4", "TEXT"),
        ("NCHAR", "NCHAR", J.NCHAR, 1, "utf8", "CHAR"),
        ("NATIONAL CHAR(5) BINARY", "NATIONAL CHAR BINARY", J.NCHAR, 5, "utf8", "CHAR"),
        ("NATIONAL CHARACTER VARYING(5)", "NATIONAL CHARACTER VARYING", J.NVARCHAR, 5, "utf8", "VARCHAR"),
        ("NCHAR VARCHAR(5)", "NCHAR VARCHAR", J.NVARCHAR, 5, "utf8", "VARCHAR"),
        ("VARCHAR(60) BINARY CHARACTER SET latin1", "VARCHAR BINARY", J.VARCHAR, 60, "latin1", "VARCHAR"),
        ("VARCHAR(60) ASCII", "VARCHAR", J.VARCHAR, 60, "utf8mb4", "VARCHAR"),
        ("TEXT CHARSET 'latin1'", "TEXT", J.VARCHAR, None, "latin1", "TEXT"),
        ("VARCHAR(5) CHAR SET DEFAULT", "VARCHAR", J.VARCHAR, 5, "utf8mb4", "VARCHAR"),
        ("VARCHAR(5) COLLATE latin1_bin", "VARCHAR", J.VARCHAR, 5, "latin1", "VARCHAR"),
        ("VARCHAR(5) NOT NULL COLLATE latin1_bin NULL", "VARCHAR", J.VARCHAR, 5, "latin1", "VARCHAR"),
        ("VARCHAR(5) CHARACTER SET latin1 COLLATE utf8_bin", "VARCHAR", J.VARCHAR, 5, "latin1", "VARCHAR"),
        ("VARCHAR(5) COLLATE uca1400_ai_ci", "VARCHAR", J.VARCHAR, 5, "utf8mb4", "VARCHAR"),
    ],
)
@pytest.mark.parametrize("flavor", Flavor)
def test_types_with_charset(
    written: str, name: str, jdbc: JdbcType, length: int | None, charset: str, stored: str, flavor: Flavor
) -> None:
    column = created(written, flavor).column("c")
    assert column == Column("c", name, length, charset=charset, has_default=True)
    assert (column.jdbc_type, column.base_type) == (jdbc, stored)


@pytest.mark.parametrize(
    ("written", "name", "length", "labels"),
    [
        ("ENUM('a','b')", "ENUM", 1, ("a", "b")),
        ("SET('a', 'b', 'c')", "SET", 5, ("a", "b", "c")),
        (r"""ENUM('it''s','x\'y',"q""u",'c,d','a\\b')""", "ENUM", 1, ("it's", "x'y", 'q"u', "c,d", "a\\b")),
        ("ENUM('a') BINARY", "ENUM BINARY", 1, ("a",)),
    ],
)
def test_labels(written: str, name: str, length: int, labels: tuple[str, ...]) -> None:
    column = created(written).column("c")
    assert column == Column("c", name, length, charset="utf8mb4", labels=labels, has_default=True)
    assert column.base_type == name.split()[0]


@pytest.mark.parametrize(
    ("written", "default"),
    [
        ("5", "5"),
        ("-5", "-5"),
        ("+ 5", "+5"),
        ("-1.5e-3", "-1.5e-3"),
        ("'5'", "5"),
        ("'it''s'", "it''s"),
        (r"'a\nb'", r"a\nb"),
        ("''", ""),
        ('"dq"', "dq"),
        ("'a' 'b'", "ab"),
        ("_utf8mb4'abc'", "abc"),
        ("_latin1 'abc'", "abc"),
        ("N'abc'", "abc"),
        ("DATE '2020-01-01'", "2020-01-01"),
        ("TRUE", "TRUE"),
        ("b'101'", "101"),
        ("x'1F'", "1F"),
        ("0x1F", "1F"),
        ("CURRENT_TIMESTAMP", NOW),
        ("now(3)", NOW),
        ("LOCALTIMESTAMP()", NOW),
        ("(1 + (2))", None),
        ("(uuid())", None),
        ("uuid()", None),
        ("CURDATE()", None),
        ("CURRENT_DATE", None),
        ("nextval(`d`.`s`)", None),
        ("NEXT VALUE FOR d.s", None),
    ],
)
@pytest.mark.parametrize("flavor", Flavor)
def test_default_values(written: str, default: str | None, flavor: Flavor) -> None:
    column = created(f"INT NOT NULL DEFAULT {written} COMMENT 'x'", flavor).column("c")
    assert column == Column("c", "INT", optional=False, has_default=True, default=default, comment="x")


def test_null_is_the_default_of_nullable_columns_only() -> None:
    assert created("INT DEFAULT NULL").column("c") == Column("c", "INT", has_default=True)
    assert created("INT NOT NULL DEFAULT NULL").column("c") == Column("c", "INT", optional=False)


@pytest.mark.parametrize(
    "attributes",
    [
        "AS (a + 1) STORED",
        "GENERATED ALWAYS AS (concat('a)', b)) VIRTUAL",
        "GENERATED ALWAYS AS ROW START INVISIBLE",
        "CHECK (c > 5)",
        "CONSTRAINT ck CHECK (c > 5) NOT ENFORCED",
        "REFERENCES other (id) MATCH FULL ON UPDATE SET NULL ON DELETE NO ACTION",
        "VISIBLE COLUMN_FORMAT FIXED STORAGE DISK",
        "ENGINE_ATTRIBUTE = '{}' NOT SECONDARY",
        "SRID 4326",
        "REF_SYSTEM_ID=4326",
        "COMPRESSED",
        "/*M!100301 COMPRESSED=zlib*/",
        "WITHOUT SYSTEM VERSIONING",
        "/*!80023 INVISIBLE */",
    ],
)
def test_attributes_without_effect(attributes: str) -> None:
    plain = Column("c", "INT", has_default=True)
    assert created(f"INT {attributes}").columns == (plain,)
    assert created(f"INT {attributes} NOT NULL, b INT").column("c") == replace(plain, optional=False, has_default=False)


@pytest.mark.parametrize("flavor", Flavor)
def test_increments(flavor: Flavor) -> None:
    serial = Column("c", "BIGINT UNSIGNED", optional=False, auto_incremented=True)
    assert created("SERIAL", flavor) == replace(created("SERIAL", flavor), columns=(serial,), key=("c",))
    assert created("INT SERIAL DEFAULT VALUE", flavor).column("c") == replace(serial, type="INT")
    assert created("INT AUTO_INCREMENT", flavor).column("c").auto_incremented
    updated = created("TIMESTAMP DEFAULT NOW() ON UPDATE CURRENT_TIMESTAMP(6)", flavor).column("c")
    assert (updated.auto_incremented, updated.default) == (flavor is Flavor.MYSQL, NOW)
    assert created("TIMESTAMP NULL ON UPDATE NOW()", flavor).column("c").auto_incremented


def test_comments_are_kept_where_they_are_asked_for() -> None:
    tables = Tables()
    DdlParser(tables, Flavor.MYSQL).parse("CREATE TABLE t (c INT COMMENT 'x') COMMENT 'y'", "d")
    table = next(iter(tables))
    assert (table.comment, table.column("c").comment) == (None, None)
    assert created("INT COMMENT 'it''s') COMMENT='y' ENGINE=(x").comment == "y"


@pytest.mark.parametrize(
    ("definition", "stuck"),
    [
        ("SOMETHING", r"at character 19, 'SOMETHING\)': the type of a column was expected"),
        ("INT SOMETHING", r"'SOMETHING\)': \) was expected"),
        ("INT DEFAULT", r"'\)': a name was expected"),
        ("ENUM(_utf8'a')", r"a string was expected"),
        ("INT ON UPDATE 5", "CURRENT_TIMESTAMP was expected"),
        ("DECIMAL(a)", "a number was expected"),
        ("INT CHECK (c > 5", "at its end: \\) was expected"),
    ],
)
def test_where_a_definition_is_not_understood(definition: str, stuck: str) -> None:
    with pytest.raises(DataError, match=f"{stuck}. Statement: CREATE TABLE t"):
        created(definition)

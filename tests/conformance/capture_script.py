"""Statements whose effects Debezium and we capture: some before a connector starts, some while it streams."""

from collections.abc import Sequence
from dataclasses import dataclass

DATABASE = "shop"
OTHER_DATABASE = "depot"
END = "zz_end"
"""A table whose rows mark the end of the snapshot and of the stream."""

SESSION = ("SET SESSION sql_mode = ''",)


@dataclass(frozen=True, slots=True)
class TypesTable:
    """A table of types, made before the start and once more while the log is read.

    Attributes:
        name: of the table; the one in the stream has an ``s_`` before it.
        columns: in the statement that makes it.
        rows: each the values of a row, without the key.
    """

    name: str
    columns: str
    rows: Sequence[str]

    def statements(self, prefix: str = "") -> list[str]:
        """Return the statements that make and fill it."""
        name = f"{prefix}{self.name}"
        values = ", ".join(f"({number}, {row})" for number, row in enumerate(self.rows, 1))
        return [
            f"CREATE TABLE {name} (id INT NOT NULL PRIMARY KEY, {self.columns})",
            f"INSERT INTO {name} VALUES {values}",
        ]

    def changes(self, prefix: str = "") -> list[str]:
        """Return statements that change its rows."""
        name = f"{prefix}{self.name}"
        return [f"UPDATE {name} SET id = id + 1000 WHERE id = 1", f"DELETE FROM {name} WHERE id = 2"]


def _nulls(count: int) -> str:
    return ", ".join(["NULL"] * count)


COMMON_TYPES = (
    TypesTable(
        "integers",
        "a TINYINT, b TINYINT UNSIGNED, c TINYINT(1), d SMALLINT, e SMALLINT UNSIGNED, f MEDIUMINT, "
        "g MEDIUMINT UNSIGNED, h INT, i INT UNSIGNED, j BIGINT, k BIGINT UNSIGNED, l INT(5) ZEROFILL, m INTEGER, "
        "n BOOLEAN, o BOOL, p INT(11)",
        (
            "-128, 255, 1, -32768, 65535, -8388608, 16777215, -2147483648, 4294967295, -9223372036854775808, "
            "18446744073709551615, 42, 7, TRUE, FALSE, 3",
            "127, 0, 0, 32767, 0, 8388607, 0, 2147483647, 0, 9223372036854775807, 9223372036854775808, 0, -7, 0, 1, 0",
            _nulls(16),
        ),
    ),
    TypesTable(
        "decimals",
        "a DECIMAL, b DECIMAL(10,2), c DECIMAL(65,30), d NUMERIC(38,0), e DECIMAL(5,5) UNSIGNED, f DEC(20), "
        "g FIXED(12,3), h DECIMAL(18,9) ZEROFILL",
        (
            "1234567890, -12345678.90, 12345678901234567890123456789012345.123456789012345678901234567890, "
            "99999999999999999999999999999999999999, 0.12345, -1, 1.5, 3.25",
            "0, 0.01, -0.000000000000000000000000000001, -1, 0, 0, 0, 0",
            _nulls(8),
        ),
    ),
    TypesTable(
        "floats",
        "a FLOAT, b FLOAT(10), c FLOAT(30), d FLOAT(7,3), e DOUBLE, f DOUBLE PRECISION, g DOUBLE(10,4), h REAL, "
        "i FLOAT UNSIGNED, j DOUBLE UNSIGNED",
        (
            "1.1, 3.14159, 2.718281828459045, 1234.567, 1.7976931348623157e308, -2.5e-10, 123456.7891, 0.1, 3.5, 1e22",
            "-3.4e38, 0, -0.0, 0.001, 2.2250738585072014e-308, 1e7, 0.0001, 123456789.125, 16777217, 1e-5",
            _nulls(10),
        ),
    ),
    TypesTable(
        "dates",
        "a DATE, b YEAR, c YEAR(4)",
        ("'2024-02-29', 2024, 1901", "'1000-01-01', 1999, 2155", "'9999-12-31', '70', '00'", _nulls(3)),
    ),
    TypesTable(
        "clocks",
        "a TIME, b TIME(1), c TIME(2), d TIME(3), e TIME(4), f TIME(5), g TIME(6)",
        (
            "'12:34:56', '12:34:56.7', '12:34:56.78', '12:34:56.789', '12:34:56.7891', '12:34:56.78912', "
            "'12:34:56.789123'",
            "'00:00:00', '00:00:00.1', '23:59:59.99', '23:59:59.999', '01:00:00', '00:00:01', '00:00:00.000001'",
            _nulls(7),
        ),
    ),
    TypesTable(
        "moments",
        "a DATETIME, b DATETIME(1), c DATETIME(2), d DATETIME(3), e DATETIME(4), f DATETIME(5), g DATETIME(6), "
        "h TIMESTAMP NULL, i TIMESTAMP(1) NULL, j TIMESTAMP(3) NULL, k TIMESTAMP(6) NULL",
        (
            "'2024-02-29 12:34:56', '2024-02-29 12:34:56.7', '2024-02-29 12:34:56.78', '2024-02-29 12:34:56.789', "
            "'2024-02-29 12:34:56.7891', '2024-02-29 12:34:56.78912', '2024-02-29 12:34:56.789123', "
            "'2024-02-29 12:34:56', '2024-02-29 12:34:56.7', '2024-02-29 12:34:56.789', '2024-02-29 12:34:56.789123'",
            "'1000-01-01 00:00:00', '1969-12-31 23:59:59.9', '9999-12-31 23:59:59.99', '1969-12-31 23:59:59.999', "
            "'1900-01-01 00:00:00.0001', '1970-01-01', '1969-12-31 23:59:59.999999', "
            "'1970-01-01 00:00:01', '2038-01-19 03:14:07', '2000-01-01 00:00:00', '2000-01-01 00:00:00.1'",
            _nulls(11),
        ),
    ),
    TypesTable(
        "zero_times",
        "a DATE, b DATE NOT NULL, c DATETIME, d DATETIME(6) NOT NULL, e TIMESTAMP NULL, f TIMESTAMP(3) NOT NULL "
        "DEFAULT '2000-01-01', h TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP",
        (
            "'0000-00-00', '0000-00-00', '0000-00-00', '0000-00-00', '0000-00-00', '0000-00-00', '0000-00-00'",
            "'2020-00-10', '2020-10-00', '2020-00-10 01:02:03', '2020-10-00 01:02:03', NULL, '2020-01-01', "
            "'2020-01-01'",
        ),
    ),
    TypesTable(
        "bits",
        "a BIT, b BIT(1), c BIT(2), d BIT(8), e BIT(9), f BIT(33), g BIT(64)",
        (
            "b'1', b'0', b'10', b'10101010', b'100000001', b'100000000000000000000000000000001', 0xFFFFFFFFFFFFFFFF",
            "0, 1, 0, 0, 0, 0, 1",
            _nulls(7),
        ),
    ),
    TypesTable(
        "binaries",
        "a BINARY, b BINARY(5), c VARBINARY(20), d TINYBLOB, e BLOB, f MEDIUMBLOB, g LONGBLOB",
        (
            "'a', 'ab', 0x00FF10, 'tiny', 0xDEADBEEF, REPEAT('m', 300), ''",
            "'', '', '', '', '', '', ''",
            "0x00, 0x0102030000, 0x010200, 0x00, 0x00, 0x00, 0x00",
            _nulls(7),
        ),
    ),
    TypesTable(
        "texts",
        "a CHAR(5), b VARCHAR(40), c TINYTEXT, d TEXT, e MEDIUMTEXT, f LONGTEXT, g NCHAR(4), h NVARCHAR(9), "
        "i NATIONAL VARCHAR(9), j TEXT(100)",
        (
            "'ab', '😀 별', 'é', 'line\\nbreak\\t\"quote\"', REPEAT('m', 300), '\\\\', '가', '나', '다', 'x'",
            "'', '', '', '', '', '', '', '', '', ''",
            "'a  ', ' b ', '\\0', '\\u007f', 'it''s', '', 'a', 'b', 'c', 'd'",
            _nulls(10),
        ),
    ),
    TypesTable(
        "charsets",
        "a VARCHAR(20) CHARACTER SET latin1, b TEXT CHARACTER SET euckr, c CHAR(9) CHARACTER SET utf8mb4 "
        "COLLATE utf8mb4_bin, d VARCHAR(9) COLLATE latin1_general_ci, e VARCHAR(9) CHARACTER SET ucs2, "
        "f VARCHAR(9) CHARACTER SET sjis, g VARCHAR(9) CHARACTER SET ascii, h VARCHAR(9) CHARACTER SET utf16, "
        "j ENUM('가','나') CHARACTER SET euckr, k VARCHAR(9) CHARSET gbk, "
        "l VARCHAR(9) CHARSET cp1251, m VARCHAR(9) BINARY",
        (
            "'café€', '한국어', '😀', 'é', '별', '日本', 'abc', '😀', '나', '中文', 'Привет', 'Ab'",
            _nulls(12),
        ),
    ),
    TypesTable(
        "labels",
        "a ENUM('small','medium','large'), b SET('a','b','c'), c ENUM('it''s','a,b') NOT NULL DEFAULT 'a,b', "
        "d SET('x','y') NOT NULL DEFAULT 'x,y', e ENUM('', 'b'), f ENUM('é','별') DEFAULT '별'",
        (
            "'small', 'a,c', 'it''s', 'y', '', 'é'",
            "'none', '', 'a,b', '', 'b', '별'",
            "NULL, NULL, 'a,b', 'x', NULL, NULL",
        ),
    ),
    TypesTable(
        "documents",
        "a JSON, b JSON NOT NULL",
        (
            """'{"b": 1, "a": [true, false, null, {"x": "y"}], "long key": "별 😀 \\\\" \\\\\\\\ \\\\n"}', '{}'""",
            """'[1.5, -0.1, 1e100, 1.0, 0.30000000000000004, 12345678901234567890, -5]', '[]'""",
            """NULL, '"text"'""",
            """'null', '3'""",
            """'{"nested": {"deep": {"deeper": [[], {}, [1, [2, [3]]]]}}}', 'true'""",
            """'[9223372036854775807, 18446744073709551615, 65535, 65536, -32769, 1e-7, 123456789.125]', '1.0'""",
        ),
    ),
    TypesTable(
        "shapes",
        "a POINT, b LINESTRING, c POLYGON, d GEOMETRY, e MULTIPOINT, f MULTILINESTRING, g MULTIPOLYGON, "
        "h GEOMETRYCOLLECTION, i POINT NOT NULL",
        (
            "ST_GeomFromText('POINT(1 2)'), ST_GeomFromText('LINESTRING(0 0, 1 1)'), "
            "ST_GeomFromText('POLYGON((0 0, 1 0, 1 1, 0 0))'), ST_GeomFromText('POINT(3 4)', 4326), "
            "ST_GeomFromText('MULTIPOINT(1 1, 2 2)'), ST_GeomFromText('MULTILINESTRING((0 0, 1 1),(2 2, 3 3))'), "
            "ST_GeomFromText('MULTIPOLYGON(((0 0, 1 0, 1 1, 0 0)))'), "
            "ST_GeomFromText('GEOMETRYCOLLECTION(POINT(1 1))'), ST_GeomFromText('POINT(-1.5 2.25)')",
            f"{_nulls(8)}, ST_GeomFromText('POINT(0 0)', 4326)",
        ),
    ),
    TypesTable(
        "defaults",
        "a INT NOT NULL DEFAULT 5, b INT DEFAULT 6, c VARCHAR(10) NOT NULL DEFAULT 'x''y', d VARCHAR(10) DEFAULT '', "
        "e DECIMAL(10,2) NOT NULL DEFAULT 1.5, f DOUBLE DEFAULT 2.5, g DATE NOT NULL DEFAULT '2020-01-02', "
        "h DATETIME(3) DEFAULT '2020-01-02 03:04:05.678', i TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, "
        "j BIT(1) DEFAULT b'1', k BIT(9) DEFAULT b'101', l TIME(2) DEFAULT '12:34:56.78', m YEAR DEFAULT 2020, "
        "n BIGINT UNSIGNED DEFAULT 18446744073709551615, o BOOLEAN NOT NULL DEFAULT TRUE, p CHAR(3) DEFAULT NULL, "
        "q VARBINARY(5) DEFAULT 'ab', r TIMESTAMP NULL DEFAULT '2020-01-02 03:04:05', s FLOAT NOT NULL DEFAULT 0, "
        "t SMALLINT UNSIGNED DEFAULT 7, u DATETIME DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP, "
        "v DATE NOT NULL DEFAULT '0000-00-00', w DATETIME DEFAULT '0000-00-00 00:00:00', x TINYINT(1) DEFAULT 1, "
        "y BINARY(3) NOT NULL DEFAULT 'a', z INT COMMENT 'a comment', za TINYINT NOT NULL DEFAULT -1, "
        "zb DECIMAL(5,1) DEFAULT '7'",
        (
            "1, NULL, 'a', NULL, 1, NULL, '2024-01-01', NULL, '2024-01-01 00:00:00', NULL, NULL, NULL, NULL, NULL, 0, "
            "NULL, NULL, NULL, 1, NULL, '2024-01-01 00:00:00', '2024-01-01', NULL, NULL, 'abc', 1, 2, NULL",
        ),
    ),
)

LARGE_TIMES = TypesTable(
    "large_times",
    "a TIME, b TIME(3), c TIME(6)",
    (
        "'838:59:59', '-838:59:59', '-838:59:59.000000'",
        "'-00:00:01', '-00:00:00.001', '-00:00:00.000001'",
        "'24:00:00', '100:00:00.5', '99:59:59.999999'",
        "'-12:34:56', '-12:34:56.789', '-12:34:56.789123'",
    ),
)
"""Times that are not of a day, which some modes do not allow."""

MYSQL_TYPES = (
    TypesTable("byte_texts", "a CHAR(3) BYTE, b VARCHAR(9) CHARSET binary", ("'x', 'bin'", "'', 'b'", "NULL, NULL")),
    TypesTable("zero_years", "a YEAR NOT NULL, b YEAR", ("0, 0",)),  # with which Java's driver of MariaDB fails
    TypesTable(
        "computed_documents",
        "a JSON",
        (
            "JSON_OBJECT('d', CAST('2024-01-02' AS DATE), 't', CAST('12:34:56.789' AS TIME(3)), "
            "'dt', CAST('2024-01-02 03:04:05.678901' AS DATETIME(6)))",
            "JSON_OBJECT('n', CAST(1.50 AS DECIMAL(10,2)), 'm', CAST('-0.001' AS DECIMAL(10,3)))",
            "JSON_ARRAY(CAST('-12:00:00' AS TIME), CAST('0001-01-01' AS DATE), CAST('2024-01-02 03:04' AS DATETIME))",
            "JSON_OBJECT('b', CAST('abc' AS BINARY))",
        ),
    ),
    TypesTable(
        "computed_columns",
        "a INT, b INT AS (a * 2), c INT GENERATED ALWAYS AS (a * 3) STORED, d VARCHAR(30) DEFAULT (UUID()), "
        "e INT INVISIBLE, f JSON DEFAULT (JSON_ARRAY())",
        (
            "1, DEFAULT, DEFAULT, 'x', '[]'",
            "2, DEFAULT, DEFAULT, 'y', NULL",
        ),
    ),
)

PREPARATION = (
    "CREATE TABLE no_key (a INT, b VARCHAR(9))",
    "INSERT INTO no_key VALUES (1, 'a'), (1, 'a'), (NULL, NULL)",
    "CREATE TABLE composite (a INT, b VARCHAR(9), c INT, PRIMARY KEY (b, a))",
    "INSERT INTO composite VALUES (1, 'x', 1), (2, 'y', 2)",
    "CREATE TABLE unique_only (a INT NOT NULL, b VARCHAR(9) NOT NULL, c INT, UNIQUE KEY u (b), UNIQUE KEY v (a))",
    "INSERT INTO unique_only VALUES (1, 'x', 1), (2, 'y', 2)",
    "CREATE TABLE unique_null (a INT, b INT, UNIQUE (a))",
    "INSERT INTO unique_null VALUES (1, 1), (NULL, 2)",
    "CREATE TABLE `odd table-name` (`a b` INT PRIMARY KEY, `c``d` INT, `select` VARCHAR(5), `별` INT)",
    "INSERT INTO `odd table-name` VALUES (1, 2, 'x', 3)",
    "CREATE TABLE customers (id INT AUTO_INCREMENT PRIMARY KEY COMMENT 'the number', name VARCHAR(30) NOT NULL "
    "COMMENT 'who it is', email VARCHAR(50)) COMMENT = 'all customers'",
    "INSERT INTO customers (name, email) VALUES ('Anna', 'anna@example.com'), ('Bob', NULL)",
    "CREATE TABLE orders (id INT AUTO_INCREMENT PRIMARY KEY, customer INT, amount DECIMAL(8,2))",
    "INSERT INTO orders (customer, amount) VALUES (1, 9.99)",
    "CREATE TABLE items (`order` INT, line INT, what VARCHAR(20), PRIMARY KEY (`order`, line))",
    "INSERT INTO items VALUES (1, 1, 'tea'), (1, 2, 'cup')",
    "CREATE TABLE empty_table (id INT PRIMARY KEY)",
    "CREATE TABLE secret (id INT PRIMARY KEY, a INT)",
    "INSERT INTO secret VALUES (1, 1)",
    f"CREATE TABLE {OTHER_DATABASE}.stock (id INT PRIMARY KEY, a INT)",
    f"INSERT INTO {OTHER_DATABASE}.stock VALUES (1, 1)",
    f"CREATE TABLE {END} (id INT PRIMARY KEY)",
    f"INSERT INTO {END} VALUES (1)",
)

CHANGES = (
    "INSERT INTO no_key VALUES (2, 'b'), (3, NULL)",
    "UPDATE no_key SET b = 'c' WHERE a = 2",
    "DELETE FROM no_key WHERE a = 1",
    "INSERT INTO composite VALUES (3, 'z', 3), (4, 'w', 4), (5, 'v', 5)",
    "UPDATE composite SET c = 10",
    "UPDATE composite SET a = a + 10 WHERE c = 10 AND b IN ('x', 'z')",
    "DELETE FROM composite WHERE b = 'y'",
    "UPDATE unique_only SET b = 'q' WHERE a = 1",
    "UPDATE unique_only SET c = 5 WHERE a = 2",
    "DELETE FROM unique_only WHERE a = 2",
    "INSERT INTO unique_null VALUES (5, 5), (NULL, 6)",
    "UPDATE unique_null SET a = 7 WHERE b = 2",
    "UPDATE `odd table-name` SET `별` = 4, `c``d` = NULL",
    "INSERT INTO customers (name) VALUES ('Carol')",
    "UPDATE customers SET email = 'bob@example.com' WHERE name = 'Bob'",
    "UPDATE customers SET name = name",
    "BEGIN",
    "INSERT INTO customers (name) VALUES ('Dora'), ('Eve')",
    "INSERT INTO orders (customer, amount) VALUES (3, 1.25)",
    "INSERT INTO items VALUES (2, 1, 'pot')",
    "INSERT INTO secret VALUES (2, 2)",
    "UPDATE orders SET amount = amount + 1",
    "DELETE FROM items WHERE line = 2",
    "COMMIT",
    "BEGIN",
    "INSERT INTO customers (name) VALUES ('nobody')",
    "ROLLBACK",
    f"INSERT INTO {OTHER_DATABASE}.stock VALUES (2, 2)",
    f"ALTER TABLE {OTHER_DATABASE}.stock ADD COLUMN b INT",
    "TRUNCATE TABLE items",
    "TRUNCATE no_key",
    "TRUNCATE TABLE secret",
)

DEFINITIONS = (
    "ALTER TABLE customers ADD COLUMN phone VARCHAR(20) DEFAULT '-' COMMENT 'calls' AFTER name",
    "INSERT INTO customers (name, phone) VALUES ('Frank', '123')",
    "ALTER TABLE customers ADD COLUMN (age INT, size ENUM('s','m') NOT NULL DEFAULT 'm'), DROP COLUMN email",
    "INSERT INTO customers (name, age, size) VALUES ('Gina', 30, 's')",
    "ALTER TABLE customers MODIFY COLUMN age BIGINT UNSIGNED NOT NULL DEFAULT 1 FIRST",
    "INSERT INTO customers (name) VALUES ('Hugo')",
    "ALTER TABLE customers CHANGE COLUMN phone mobile VARCHAR(40) CHARACTER SET latin1",
    "UPDATE customers SET mobile = 'é' WHERE name = 'Hugo'",
    "ALTER TABLE customers RENAME COLUMN mobile TO handy",
    "INSERT INTO customers (name, handy) VALUES ('Iris', NULL)",
    "ALTER TABLE customers ALTER COLUMN age SET DEFAULT 7, ALTER COLUMN size DROP DEFAULT",
    "INSERT INTO customers (name, size) VALUES ('Jack', 's')",
    "CREATE INDEX by_name ON customers (name)",
    "DROP INDEX by_name ON customers",
    "CREATE UNIQUE INDEX by_handy ON no_key (a)",
    "INSERT INTO no_key VALUES (50, 'key')",
    "ALTER TABLE composite DROP PRIMARY KEY, ADD PRIMARY KEY (a)",
    "INSERT INTO composite VALUES (77, 'k', 7)",
    "ALTER TABLE composite ADD INDEX c_index (c), COMMENT = 'a composite key'",
    "ALTER TABLE unique_null CONVERT TO CHARACTER SET latin1",
    "RENAME TABLE orders TO purchases",
    "INSERT INTO purchases (customer, amount) VALUES (4, 4)",
    "ALTER TABLE purchases RENAME TO orders",
    "INSERT INTO orders (customer, amount) VALUES (5, 5)",
    "RENAME TABLE orders TO one, items TO two",
    "INSERT INTO one (customer, amount) VALUES (6, 6)",
    "RENAME TABLE one TO orders, two TO items",
    "CREATE TABLE new_table (id INT PRIMARY KEY, a VARCHAR(5)) DEFAULT CHARSET = latin1 COMMENT 'new'",
    "INSERT INTO new_table VALUES (1, 'é')",
    "CREATE TABLE IF NOT EXISTS new_table (id INT PRIMARY KEY)",
    "CREATE TABLE like_table LIKE customers",
    "INSERT INTO like_table (name, size) VALUES ('Kim', 's')",
    "CREATE TABLE as_table AS SELECT 1 AS id, 'x' AS a",
    "CREATE TEMPORARY TABLE passing (id INT)",
    "DROP TEMPORARY TABLE passing",
    "/* a comment */ ALTER TABLE new_table /* inside */ ADD COLUMN b INT -- at the end",
    "INSERT INTO new_table VALUES (2, 'b', 2)",
    "ALTER TABLE secret ADD COLUMN b INT",
    "DROP TABLE like_table, new_table",
    "DROP TABLE IF EXISTS like_table",
    "CREATE VIEW a_view AS SELECT id FROM customers",
    "DROP VIEW a_view",
    "CREATE DATABASE third DEFAULT CHARACTER SET latin1",
    "CREATE TABLE third.thing (id INT PRIMARY KEY)",
    "ALTER DATABASE third CHARACTER SET utf8mb4",
    "DROP DATABASE third",
    f"CREATE TABLE {OTHER_DATABASE}.more (id INT PRIMARY KEY)",
    f"DROP TABLE {OTHER_DATABASE}.more",
    "CREATE TABLE `odd ``one` (`id x` INT PRIMARY KEY, `key` INT COMMENT 'it''s \"odd\"')",
    "INSERT INTO `odd ``one` VALUES (1, 1)",
    "DROP TABLE `odd ``one`",
    "CREATE TABLE self_ref (id INT PRIMARY KEY, parent INT, CONSTRAINT fk FOREIGN KEY (parent) REFERENCES "
    "self_ref (id) ON DELETE CASCADE, KEY (parent), CHECK (id > 0))",
    "INSERT INTO self_ref VALUES (1, NULL), (2, 1)",
    "DELETE FROM self_ref WHERE id = 2",
    "CREATE TABLE parts (id INT, y INT, PRIMARY KEY (id, y)) PARTITION BY RANGE (y) "
    "(PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN MAXVALUE)",
    "INSERT INTO parts VALUES (1, 1), (2, 20)",
    "ALTER TABLE parts TRUNCATE PARTITION p0",
    "CREATE USER someone IDENTIFIED BY 'secret-of-a-user'",
    "GRANT SELECT ON shop.* TO someone",
    "DROP USER someone",
    "ANALYZE TABLE customers",
    "OPTIMIZE TABLE customers",
    "FLUSH TABLES",
)

MYSQL_DEFINITIONS = (
    "ALTER TABLE customers RENAME COLUMN handy TO portable, ALGORITHM = INSTANT",
    "INSERT INTO customers (name, size) VALUES ('Lea', 's')",
)
MARIADB_DEFINITIONS = (
    "ALTER TABLE customers ADD COLUMN IF NOT EXISTS fresh INT, DROP COLUMN IF EXISTS none",
    "CREATE OR REPLACE TABLE replaced (id INT PRIMARY KEY, a INT)",
    "INSERT INTO replaced VALUES (1, 1)",
    "SET STATEMENT max_statement_time = 60 FOR ALTER TABLE replaced ADD COLUMN b INT",
    "INSERT INTO replaced VALUES (2, 2, 2)",
)
MARIADB_TYPES = (
    TypesTable(
        "identifiers",
        "a UUID, b UUID NOT NULL DEFAULT '6ba7b810-9dad-11d1-80b4-00c04fd430c8'",
        (
            "'6ba7b810-9dad-11d1-80b4-00c04fd430c8', '018f2b4e-7f2a-7cc0-9c5e-0123456789ab'",
            "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a00', 'ffffffff-ffff-ffff-ffff-ffffffffffff'",
            "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd200000', '6ba7b810-9dad-11d1-80b4-200000000000'",
            "NULL, '00000000-0000-0000-0000-000000000000'",
        ),
    ),
)

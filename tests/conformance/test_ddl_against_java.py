"""The corpus of DDL through Debezium's parsers: what our parser is to be compared with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict

import pytest

from tests.conformance import ddl_corpus
from tests.conformance.java_ddl import Parsed, Script, java_parsed, java_tables
from tests.conformance.java_debezium import Debezium
from tests.golden_answers import Golden, digest

CORPUS: Mapping[Debezium, Mapping[str, Script]] = {
    Debezium.MYSQL: {**ddl_corpus.BOTH, **ddl_corpus.MYSQL},
    Debezium.MARIADB: {**ddl_corpus.BOTH, **ddl_corpus.MARIADB},
}
# Debezium's parsers do not know all that servers take: only quotes without ANSI_QUOTES are an error for these as well.
UNPARSED: Mapping[Debezium, frozenset[str]] = {
    Debezium.MYSQL: frozenset(
        {
            "ANSI quotes",
            "MySQL: ALTER INSTANCE ROTATE BINLOG MASTER KEY",
            "charset: CREATE DATABASE shop CHARSET latin1; ALTER DATABASE COLLATE utf8mb4_bin; "
            "CREATE TABLE t (a CHAR(3))",
            "no structure: XA START X'01',X'',1",
        }
    ),
    Debezium.MARIADB: frozenset(
        {
            "MariaDB: ADD SYSTEM VERSIONING",
            "MariaDB: CREATE OR REPLACE DATABASE shop CHARACTER SET = 'latin1'; CREATE TABLE t (a CHAR(3))",
            "MariaDB: CREATE TABLE t (a INT, f DATE, u DATE, PERIOD FOR valid (f, u), "
            "UNIQUE (a, valid WITHOUT OVERLAPS))",
            "MariaDB: INET4",
            "MariaDB: INET6 NOT NULL",
            "MariaDB: INT DEFAULT NEXT VALUE FOR s",
            "MariaDB: INT WITHOUT SYSTEM VERSIONING",
            "MariaDB: POINT REF_SYSTEM_ID=4326",
            "MariaDB: TEXT COMPRESSED=zlib",
            "MariaDB: VARCHAR(100) COMPRESSED",
            "no structure: XA START X'01',X'',1",
            "text: CHAR(5) ASCII",
            "text: CHAR(5) BYTE",
            "text: CHAR(5) UNICODE",
        }
    ),
}
BOTH = pytest.mark.parametrize("connector", Debezium, ids=lambda connector: connector.name)


def recorded(golden: Golden, connector: Debezium) -> Mapping[str, Parsed]:
    """Debezium's answers to the scripts of its corpus, by name."""
    corpus = CORPUS[connector]

    def ask() -> dict[str, dict[str, object]]:
        return {
            name: asdict(one) for name, one in zip(corpus, java_parsed(connector, list(corpus.values())), strict=True)
        }

    key = f"{connector.name} {digest({name: asdict(script) for name, script in corpus.items()})}"
    return {name: Parsed(**answer) for name, answer in golden.answer(key, ask).items()}


@BOTH
def test_the_corpus_is_parsed(golden: Golden, connector: Debezium) -> None:
    parsed = recorded(golden, connector)
    assert sum(len(script.statements) for script in CORPUS[connector].values()) > 150
    assert {name: len(one.statements) for name, one in parsed.items()} == {
        name: len(script.statements) for name, script in CORPUS[connector].items()
    }
    assert {name for name, one in parsed.items() if one.errors} == UNPARSED[connector]


@BOTH
def test_tables_are_those_of_a_schema_history(golden: Golden, connector: Debezium) -> None:
    (table,) = recorded(golden, connector)["text: VARCHAR(255)"].tables
    assert table["id"] == '"shop"."t"'
    assert table["table"]["defaultCharsetName"] == "utf8mb4"
    assert table["table"]["columns"][0]["typeExpression"] == "VARCHAR"


@pytest.mark.nightly
def test_java_itself_is_asked() -> None:
    (table,) = java_tables(Debezium.MARIADB, ["CREATE TABLE t (a INT)", "RENAME TABLE t TO u"])
    assert table["id"] == '"shop"."u"'
    with pytest.raises(ValueError, match="'CREATE TABEL t'"):
        java_tables(Debezium.MARIADB, ["CREATE TABEL t"])

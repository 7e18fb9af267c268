"""Masks, hashes, truncation and types in schemas: every option of columns that has a parameter in its name."""

import hashlib
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from connect_dagster.connectors.mysql.schema.model import Column
from connect_dagster.connectors.mysql.selection.column_rules import (
    ColumnRules,
    Effect,
    shown_key,
    truncated,
    wrong_rules,
)
from connect_dagster.connectors.mysql.table_ids import TableId
from connect_dagster.errors import ConfigError

TABLE = TableId("shop", "people")
NAME = Column("name", "VARCHAR", 20)
NUMBER = Column("age", "INT UNSIGNED")


def effect(key: str, column: Column = NAME, value: str = r"shop\.people\..*") -> Effect:
    return of(ColumnRules.parse({key: value, "name": "other"}), column)


def of(rules: ColumnRules, column: Column, table: TableId = TABLE) -> Effect:
    (found,) = rules.of_table(table, [column])
    return found


def converted(found: Effect, column: Column, *values: Any) -> list[Any]:
    convert = found.convert(column)
    assert convert is not None
    found_values: list[Any] = convert(pa.array(values)).to_pylist()
    return found_values


@pytest.mark.parametrize(
    ("key", "column", "values", "changed", "parameters"),
    [
        ("column.truncate.to.3.chars", NAME, ["abcd", "ab", None], ["abc", "ab", None], {"truncateLength": "3"}),
        ("column.truncate.to.0.chars", NAME, ["abcd"], [""], {"truncateLength": "0"}),
        ("column.truncate.to.20.chars", NAME, None, None, {}),
        ("column.truncate.to.5.chars", Column("t", "TEXT"), ["가나다라마바"], ["가나다라마"], {"truncateLength": "5"}),
        ("column.truncate.to.2.chars", Column("b", "VARBINARY", 9), [b"abc"], [b"ab"], {"truncateLength": "2"}),
        ("column.truncate.to.2.chars", NUMBER, [123], [123], {"truncateLength": "2"}),
        ("column.mask.with.3.chars", NAME, ["secret", None], ["***", "***"], {"masked": "true"}),
        ("column.mask.with.0.chars", NAME, ["secret"], [""], {"masked": "true"}),
        ("column.mask.with.3.chars", Column("kind", "ENUM", 1), ["a"], ["***"], {"masked": "true"}),
        ("column.mask.with.3.chars", NUMBER, None, None, {"masked": "true"}),
        ("column.mask.hash.SHA-256.with.salt.x", NUMBER, None, None, {"masked": "true"}),
        (
            "column.propagate.source.type",
            Column("price", "DECIMAL", 10, 2),
            None,
            None,
            {".type": "DECIMAL", ".length": "10", ".scale": "2", ".name": "price"},
        ),
        ("column.propagate.source.type", NUMBER, None, None, {".type": "INT UNSIGNED", ".name": "age"}),
    ],
)
def test_effect(
    key: str, column: Column, values: list[Any] | None, changed: list[Any] | None, parameters: dict[str, str]
) -> None:
    found = effect(key, column)
    full = {f"__debezium.source.column{name}" if name[0] == "." else name: text for name, text in parameters.items()}
    assert dict(found.parameters(column)) == full
    if values is None:
        assert found.convert(column) is None
    else:
        assert converted(found, column, *values) == changed


@pytest.mark.parametrize(
    ("key", "content"),
    [
        ("column.mask.hash.SHA-256.with.salt.CzQMA0cB5K", b"\xac\xed\x00\x05t\x00\x03kim"),
        ("column.mask.hash.v2.SHA-256.with.salt.CzQMA0cB5K", b"kim"),
    ],
)
def test_hash(key: str, content: bytes) -> None:
    digits = hashlib.sha256(b"CzQMA0cB5K" + content).hexdigest()
    long, short, text = replace(NAME, length=100), NAME, replace(NAME, type="TEXT", length=None)
    assert converted(effect(key, long), long, "kim", None, "kim") == [digits, None, digits]
    assert converted(effect(key, text), text, "kim") == [digits]
    assert converted(effect(key, short), short, "kim") == [digits[:20]]


@pytest.mark.parametrize(
    ("algorithm", "pythons"),
    [("MD5", "md5"), ("SHA-1", "sha1"), ("SHA", "sha1"), ("sha-512", "sha512"), ("SHA3-256", "sha3_256")],
)
def test_algorithm(algorithm: str, pythons: str) -> None:
    column = replace(NAME, length=None)
    found = effect(f"column.mask.hash.v2.{algorithm}.with.salt.a.b", column)
    assert converted(found, column, "x") == [hashlib.new(pythons, b"a.bx").hexdigest()]


def test_of_type() -> None:
    by_type = ColumnRules.parse({"datatype.propagate.source.type": r".*\.VARCHAR"})
    other = replace(NAME, name="other")
    first, second, third = by_type.of_table(TABLE, [NAME, NUMBER, other])
    assert dict(first.parameters(NAME))["__debezium.source.column.name"] == "name"
    assert (second.parameters(NUMBER), second.convert(NUMBER)) == ((), None)
    assert dict(third.parameters(other))["__debezium.source.column.name"] == "other"


def test_only_matching_columns() -> None:
    rules = ColumnRules.parse({"column.mask.with.2.chars": r"shop\.people\.name, shop.people.mail"})
    assert of(rules, NAME).convert(NAME) is not None
    assert of(rules, Column("NAME", "CHAR")).convert(NAME) is not None
    assert of(rules, NAME, TableId("shop", "pets")).convert(NAME) is None
    assert of(ColumnRules.parse({}), NAME).parameters(NAME) == ()


def test_the_first_kind_counts() -> None:
    everything = ".*"
    rules = ColumnRules.parse({"column.mask.with.2.chars": everything, "column.truncate.to.1.chars": everything})
    assert converted(of(rules, NAME), NAME, "abc") == ["a"]


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("column.truncate.to.x.chars", r"it would be column\.truncate\.to\.<number>\.chars"),
        ("column.truncate.to.9999999999.chars", "is at most 2147483647"),
        ("column.mask.with.chars", r"it would be column\.mask\.with\.<number>\.chars"),
        (
            "column.mask.hash.MD2.with.salt.secret",
            r"\[hidden\]: MD2 is not an algorithm that is known here: MD5, .*SHA-256",
        ),
        ("column.mask.hash.SHA-256", "<algorithm>.with.salt.<salt> or column.mask.hash.v2"),
        ("column.mask.hash.v2.SHA-256.salt.secret", "it would be"),
    ],
)
def test_wrong_key(key: str, text: str) -> None:
    (error,) = wrong_rules({key: "a.b.c", "column.include.list": "x"})
    assert error.name == key
    with pytest.raises(ConfigError, match=text):
        ColumnRules.parse({key: "a.b.c"})


def test_wrong_regex() -> None:
    key = "column.mask.hash.SHA-256.with.salt.secret"
    with pytest.raises(ConfigError, match=r"with\.salt\.\[hidden\]: Invalid regex") as raised:
        ColumnRules.parse({key: "a.("})
    assert "secret" not in raised.value.message


def test_shown_key() -> None:
    assert shown_key("column.mask.with.2.chars") == "column.mask.with.2.chars"
    assert shown_key("column.mask.hash.MD5.with.salt.a.with.salt.b") == "column.mask.hash.MD5.with.salt.[hidden]"


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])) | st.none()), st.integers(0, 5))
def test_truncated_as_java(texts: list[str | None], length: int) -> None:
    def java(text: str) -> str:
        units = text.encode("utf-16-le")[: 2 * length]
        return units.decode("utf-16-le", "replace").replace("\ufffd", "?") if "\ufffd" not in text else text

    if not any(text and "\ufffd" in text for text in texts):
        expected = [None if text is None else java(text) for text in texts]
        assert truncated(pa.array(texts, pa.string()), length).to_pylist() == expected

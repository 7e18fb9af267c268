"""Sets of GTIDs, against sets of single transactions."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connect_dagster.connectors.mysql.positions.gtid import MariaDbGtidSet, MySqlGtidSet, parse_gtid_set
from connect_dagster.errors import DataError

A, B = "3e11fa47-71ca-11e1-9e33-c80aa9429562", "b5cd1624-5f30-11e4-b4e9-1051721bd241"
TRANSACTIONS = st.frozensets(st.tuples(st.sampled_from([A, B]), st.integers(1, 12)))


def of(transactions: frozenset[tuple[str, int]]) -> MySqlGtidSet:
    found = MySqlGtidSet()
    for source, number in sorted(transactions):
        found = found.plus(source, number)
    return found


@settings(max_examples=50)
@given(TRANSACTIONS, TRANSACTIONS)
def test_sets_of_mysql(one: frozenset[tuple[str, int]], other: frozenset[tuple[str, int]]) -> None:
    assert of(one) | of(other) == of(one | other)
    assert of(one) - of(other) == of(one - other)
    assert of(one).contains(of(other)) == (other <= one)
    assert MySqlGtidSet.parse(str(of(one))) == of(one)
    assert bool(of(one)) == bool(one)
    assert of(one).retained(lambda source: source == A) == of(frozenset(found for found in one if found[0] == A))


@pytest.mark.parametrize(
    ("text", "debeziums"),
    [
        ("", ""),
        (f"{A}:77", f"{A}:77-77"),
        (f"{A}:1-5:6-9:11", f"{A}:1-9:11-11"),
        (f"{A}:7-9:1-3", f"{A}:1-3:7-9"),
        (f"{B.upper()}:1-2,\n{A}:1", f"{A}:1-1,{B}:1-2"),
    ],
)
def test_text_of_mysql(text: str, debeziums: str) -> None:
    assert str(MySqlGtidSet.parse(text)) == debeziums


@pytest.mark.parametrize("text", ["3e11:1", A, f"{A}:", f"{A}:0-5", f"{A}:5-1", f"{A}:tag:1", f"{A}:1-2-3", "0-1"])
def test_texts_that_are_no_sets(text: str) -> None:
    with pytest.raises(DataError, match=r"Not a set of GTIDs: .* it is written as uuid:1-5:7,… \(MySQL\)"):
        parse_gtid_set(text)


def test_many_transactions_at_once() -> None:
    assert str(MySqlGtidSet().plus(A, 5, 9).plus(A, 1, 3).plus(A, 4)) == f"{A}:1-9"


def test_sets_of_mariadb() -> None:
    found = MariaDbGtidSet.parse("1-1-12,0-1-4711")
    assert str(found) == "0-1-4711,1-1-12"
    later = found.plus(0, 2, 4712)
    assert str(later) == "0-2-4712,1-1-12"
    assert (later.contains(found), found.contains(later)) == (True, False)
    assert str(found | later) == str(later | found) == str(later)
    assert str(later.retained(lambda source: source != "0-2")) == "0-1-4711,1-1-12"
    assert str(later.retained(lambda source: source == "1-1")) == "1-1-12"


def test_a_domain_that_the_other_does_not_know() -> None:
    assert not MariaDbGtidSet.parse("0-1-5").contains(MariaDbGtidSet.parse("1-1-1"))
    assert MariaDbGtidSet.parse("0-1-5").contains(MariaDbGtidSet())


@pytest.mark.parametrize("text", ["0-1-5", f"{A}:1-5", ""])
def test_either_kind(text: str) -> None:
    assert str(parse_gtid_set(text)) == text


def test_a_text_of_mariadb_that_is_not_one() -> None:
    with pytest.raises(DataError, match="'0-1' in '0-1-5,0-1'"):
        parse_gtid_set("0-1-5,0-1")

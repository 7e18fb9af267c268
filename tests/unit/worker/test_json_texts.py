"""JSON of values without a schema: by columns, it has the texts and errors of one by one."""

from __future__ import annotations

import enum
import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connect_dagster.errors import DataError
from connect_dagster.worker import json_texts as module
from connect_dagster.worker.json_texts import json_texts

MANY = 30
CELLS = st.one_of(
    st.text(max_size=5),
    st.integers(-(2**70), 2**70),
    st.booleans(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.none(),
)
KINDS = st.sampled_from(
    [
        st.text(max_size=5),
        st.integers(-(2**63), 2**63 - 1),
        st.booleans(),
        st.floats(allow_nan=False, allow_infinity=False),
        st.one_of(st.none(), st.text(max_size=5)),
        st.one_of(st.none(), st.integers(-100, 100)),
        st.one_of(st.none(), st.booleans()),
        CELLS,
    ]
)


class Number(int):
    """An int with another text."""

    def __repr__(self) -> str:
        return "a number"


class Colour(enum.IntEnum):
    """Numbers with names."""

    RED = 1


def one_by_one(values: list[Any]) -> list[str | None]:
    return [None if value is None else json.dumps(value, ensure_ascii=False, separators=(",", ":")) for value in values]


@given(st.data())
def test_alike_dicts_have_the_texts_of_python(data: st.DataObject) -> None:
    names = data.draw(st.lists(st.text(max_size=4), max_size=4, unique=True))
    columns = [data.draw(st.lists(data.draw(KINDS), min_size=MANY, max_size=MANY)) for _ in names]
    values = [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)] or [{}] * MANY
    assert json_texts(values).to_pylist() == one_by_one(values)


@pytest.mark.parametrize(
    "odd",
    [
        None,
        "text",
        {},
        {"a": 1},
        {"b": "x", "a": 1},
        {"a": 1, "b": "x", "c": 2},
        {"a": 1, "b": 'quote " and \\ and \n and \x7f and \u2028 and é'},
        {"a": 2**64, "b": "x"},
        {"a": True, "b": "x"},
        {"a": Number(7), "b": "x"},
        {"a": Colour.RED, "b": "x"},
        {"a": [1, {"n": None}], "b": "x"},
        {1: 1, "b": "x"},
        {"a": None, "b": None},
        {"a": 1e300, "b": "x"},
    ],
)
def test_one_value_that_differs(odd: Any) -> None:
    values = [{"a": 1, "b": "x"}] * MANY + [odd]
    assert json_texts(values).to_pylist() == one_by_one(values)
    assert json_texts([odd] * MANY).to_pylist() == one_by_one([odd] * MANY)


@pytest.mark.parametrize("cell", [math.nan, math.inf, {1}, b"x", "\ud800"])
def test_an_error_names_the_value(cell: Any) -> None:
    values = [{"a": 1.5, "b": number} for number in range(MANY)]
    values[7]["a"] = cell
    with pytest.raises((DataError, UnicodeEncodeError)) as columns:
        json_texts(values)
    with pytest.raises(type(columns.value)) as alone:
        json_texts([values[7]])
    assert str(columns.value) == str(alone.value)


def test_alike_dicts_are_not_written_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(value: Any) -> str:
        raise AssertionError(f"{value} was written alone")

    monkeypatch.setattr(module, "_json", refuse)
    values = [{"n": n, "text": str(n), "paid": n % 2 == 0, "none": None if n % 3 else n, "x": n / 3} for n in range(30)]
    assert json_texts(values).to_pylist() == one_by_one(values)

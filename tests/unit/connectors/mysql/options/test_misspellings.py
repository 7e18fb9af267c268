"""Names that are nearly those of options."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connect_dagster.connectors.mysql.options.misspellings import edits, misspellings

NAMES = {
    "topic.prefix": "topic.prefix",
    "table.include.list": "table.include.list",
    "table.whitelist": "table.include.list",
}
PREFIXES = {"database.history.": "schema.history.internal.", "signal.consumer.": "signal.consumer."}
TEXTS = st.text("ab.", max_size=5)


def found(*given: str) -> Iterator[tuple[str, str]]:
    return ((one.near, one.present) for one in misspellings(given, NAMES, PREFIXES))


@pytest.mark.parametrize(
    ("name", "near", "present"),
    [
        ("topic.prefx", "topic.prefix", "topic.prefix"),
        ("topicprefix", "topic.prefix", "topic.prefix"),
        ("table.inculde.list", "table.include.list", "table.include.list"),
        ("table.white.list", "table.whitelist", "table.include.list"),
        (
            "database.histroy.kafka.topic",
            "database.history.kafka.topic",
            "schema.history.internal.kafka.topic",
        ),
        ("signal.consummer.sasl.mechanism", "signal.consumer.sasl.mechanism", "signal.consumer.sasl.mechanism"),
    ],
)
def test_near(name: str, near: str, present: str) -> None:
    assert list(found(name)) == [(near, present)]


@pytest.mark.parametrize(
    "name",
    [
        "topic.prefix",
        "table.whitelist",
        "database.history.anything",
        "signal.consumer.x",
        "topic",
        "name",
        "database.histroy",
        "tasks.max",
    ],
)
def test_not_near(name: str) -> None:
    assert list(found(name)) == []


def test_text() -> None:
    one, other = misspellings(["topic.prefx", "table.whitelst"], NAMES, PREFIXES)
    assert str(one) == "The option topic.prefx does not exist: was topic.prefix meant?"
    assert str(other) == (
        "The option table.whitelst does not exist: was table.whitelist, which is table.include.list now, meant?"
    )


def plainly(one: str, other: str) -> int:
    if not one or not other:
        return len(one) + len(other)
    return min(
        plainly(one[1:], other) + 1, plainly(one, other[1:]) + 1, plainly(one[1:], other[1:]) + (one[0] != other[0])
    )


@given(TEXTS, TEXTS, st.integers(0, 4))
def test_edits(one: str, other: str, most: int) -> None:
    assert edits(one, other, most) == min(plainly(one, other), most + 1)

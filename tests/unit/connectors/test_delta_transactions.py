"""The transaction of a Delta table that a partition continues.

Fails at 1f0d1e0: a new topic had that of the old one.
"""

from collections.abc import Sequence
from typing import Any, cast

import pytest

from connect_dagster.connectors.spark.sink import DeltaTransactions, Transaction, next_transaction
from connect_dagster.plugin.records import TopicPartition

NAME = "lake/t-0"
A, B = "EYKo7kqiQ82dqZWUsH5wyw", "AnotherId-dqZWUsH5wy_w"
PLACE = TopicPartition("t", 0)
NONE: tuple[Transaction, ...] = ()


def written(app_id: str, version: int, updated: int = 0) -> Transaction:
    return Transaction(app_id, version, updated)


BEFORE = written(NAME, 4)
OTHERS = [written("lake/t-01", 7), written("lake/t-0:x/t-0", 8), written("other/lake/t-0", 9)]


@pytest.mark.parametrize(
    ("topic_id", "known", "expected"),
    [
        (A, NONE, (f"{NAME}:{A}", None)),
        (A, [written(f"{NAME}:{A}", 4)], (f"{NAME}:{A}", 4)),
        (B, [written(f"{NAME}:{A}", 4)], (f"{NAME}:{B}", None)),
        (A, [BEFORE], (f"{NAME}:{A}", 4)),
        (A, [BEFORE, written(f"{NAME}:{A}", 9)], (f"{NAME}:{A}", 9)),
        (B, [BEFORE, written(f"{NAME}:{A}", 9)], (f"{NAME}:{B}", None)),
        (None, NONE, (NAME, None)),
        (None, [BEFORE], (NAME, 4)),
        (None, [written(f"{NAME}:{A}", 900, 1), written(f"{NAME}:{B}", 9, 2)], (f"{NAME}:{B}", 9)),
        (
            A,
            [written("lake/t-01", 7), written("lake/t-0:x/t-0", 8), written("other/lake/t-0", 9)],
            (f"{NAME}:{A}", None),
        ),
    ],
    ids=[
        "first write",
        "same topic",
        "created again",
        "table of an earlier version",
        "written since",
        "created again since",
        "no ids",
        "no ids, written before",
        "the id is not known now",
        "other partitions and connectors",
    ],
)
def test_the_transaction_that_is_continued(
    topic_id: str | None, known: Sequence[Transaction], expected: tuple[str, int | None]
) -> None:
    assert next_transaction(NAME, topic_id, known) == expected


def test_deltas_own_form() -> None:
    text = '{"txn":{"appId":"lake/t-0","version":4,"lastUpdated":1700000000000}}'
    assert Transaction.of_json(text) == Transaction("lake/t-0", 4, 1700000000000)
    assert Transaction.of_json('{"txn":{"appId":"lake/t-0","version":4}}') == Transaction("lake/t-0", 4, 0)


def test_a_topic_created_again_before_a_first_write_after_the_upgrade(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DeltaTransactions, "_transactions", lambda _: [BEFORE])
    delta = DeltaTransactions(cast("Any", None), "/lake", "lake")
    assert delta.ends([PLACE], {"t": A}) == {PLACE: 5}
    assert delta.ends([PLACE], {}) == {PLACE: 5}
    assert delta.ends([PLACE], {"t": B}) == {}
    assert delta.ends([PLACE], {"t": B}) == {}

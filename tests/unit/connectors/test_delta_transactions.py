"""Which transaction of a Delta table a partition continues. Fails at ce718d3: a new topic had that of the old one."""

import pytest

from connect_dagster.connectors.spark.sink import continued, transactions_of

NAME = "lake/t-0"


@pytest.mark.parametrize(
    ("topic_id", "versions", "expected"),
    [
        ("a", {}, (f"{NAME}/a", None)),
        ("a", {f"{NAME}/a": 4}, (f"{NAME}/a", 4)),
        ("b", {f"{NAME}/a": 4}, (f"{NAME}/b", None)),
        ("a", {NAME: 4}, (f"{NAME}/a", 4)),
        ("b", {NAME: 4, f"{NAME}/a": 9}, (f"{NAME}/b", None)),
        (None, {}, (NAME, None)),
        (None, {NAME: 4, f"{NAME}/a": 9}, (f"{NAME}/a", 9)),
    ],
    ids=["first", "same", "created again", "earlier version", "again after that", "no ids", "id not known now"],
)
def test_the_transaction_that_is_continued(
    topic_id: str | None, versions: dict[str, int], expected: tuple[str, int | None]
) -> None:
    assert continued(NAME, topic_id, versions) == expected


def test_the_transactions_of_a_partition() -> None:
    ids = [NAME, f"{NAME}/a", "lake/t-01", "lake/t-01/a", "other/lake/t-0", "lake"]
    assert transactions_of(NAME, ids) == [NAME, f"{NAME}/a"]

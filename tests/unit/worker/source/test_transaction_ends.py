"""Where a task has its transactions end, by records, by frames and behind polls."""

from collections.abc import Callable

import pyarrow as pa
import pytest

from connect_dagster.errors import ConnectError
from connect_dagster.plugin.frames import SourceTable
from connect_dagster.plugin.records import SourceRecord
from connect_dagster.worker.source.transaction_ends import End, RequestedEnds, ends_of


def record(n: int) -> SourceRecord:
    return SourceRecord({"file": "a"}, {"position": n}, "lines", str(n), partition=3)


def table(n: int) -> SourceTable:
    return SourceTable(pa.table({"value": [str(n)]}), {"file": "a"}, {"position": n}, topic="lines")


@pytest.mark.parametrize("made", [record, table])
def test_a_poll_is_cut_behind_what_ends_a_transaction(made: Callable[[int], SourceRecord]) -> None:
    polled = [made(n) for n in range(5)]
    ends = RequestedEnds()
    ends.commit_transaction(polled[1])
    ends.abort_transaction(polled[2])
    assert list(ends.parts(polled)) == [
        (polled[:2], End.COMMIT),
        (polled[2:3], End.ABORT),
        (polled[3:], None),
    ]
    assert list(ends.parts(polled)) == [(polled, None)], "a request counts once"
    assert ends.after_poll(has_records=True) is None


def test_equal_records_are_told_apart() -> None:
    polled = [record(1), record(1)]
    ends = RequestedEnds()
    ends.commit_transaction(polled[1])
    assert list(ends.parts(polled)) == [(polled, End.COMMIT)]


def test_a_single_frame_may_end_a_transaction() -> None:
    ends, polled = RequestedEnds(), table(1)
    ends.abort_transaction(polled)
    assert list(ends.parts(polled)) == [(polled, End.ABORT)]


def test_an_end_behind_a_poll_waits_for_it() -> None:
    ends = RequestedEnds()
    ends.commit_transaction()
    assert list(ends.parts([])) == []
    assert ends.after_poll(has_records=False) is End.COMMIT
    assert ends.after_poll(has_records=True) is None


def test_both_ends_at_once_are_refused() -> None:
    ends, one = RequestedEnds(), record(1)
    for last in (one, None):
        ends.commit_transaction(last)
        ends.abort_transaction(last)
    with pytest.raises(ConnectError, match=r"both commit and abort of same record against topic/partition lines/3$"):
        list(ends.parts([one]))
    with pytest.raises(ConnectError, match=r"^Connector requested both commit and abort of same transaction$"):
        ends.after_poll(has_records=True)


@pytest.mark.parametrize(("boundary", "end"), [("poll", End.COMMIT), ("INTERVAL", None), ("Connector", None)])
def test_each_boundary_has_its_end_behind_a_poll(boundary: str, end: End | None) -> None:
    ends = ends_of(boundary)
    assert ends.after_poll(has_records=True) is end
    assert ends.after_poll(has_records=False) is None
    assert list(ends.parts(polled := [record(1)])) == [(polled, None)]

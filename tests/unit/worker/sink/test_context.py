"""What a sink task asks of its worker."""

from typing import Any, cast

from connect_dagster.plugin.records import TopicPartition
from connect_dagster.testing.contexts import CollectedMetrics
from connect_dagster.worker.sink.context import SinkContext

FIRST, SECOND = TopicPartition("t", 0), TopicPartition("t", 1)


def _context() -> SinkContext:
    context = SinkContext(cast("Any", None), dict, CollectedMetrics())
    context.assigned(frozenset({FIRST, SECOND}))
    return context


def test_what_was_asked_counts_once() -> None:
    context = _context()
    context.offset({FIRST: 2})
    context.timeout(250)
    context.request_commit()
    assert context.take_rewound() == {FIRST: 2}
    assert context.take_timeout(default=1000) == 0.25
    assert context.take_commit_requested()
    assert context.take_rewound() == {}
    assert context.take_timeout(default=1000) == 1.0
    assert not context.take_commit_requested()


def test_partitions_that_are_gone_are_neither_paused_nor_rewound() -> None:
    context = _context()
    context.pause(FIRST, SECOND)
    context.offset({FIRST: 1, SECOND: 2})
    context.assigned(frozenset({SECOND}))
    assert context.paused == {SECOND}
    assert context.take_rewound() == {SECOND: 2}
    context.resume(SECOND)
    assert context.paused == set()

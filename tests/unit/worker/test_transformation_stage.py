"""Transforms and predicates are closed once, when their task ends."""

import pytest

from connect_dagster.worker.transforms import close_chain
from tests.unit.worker.local_worker import closing_stage
from tests.unit.worker.sink.local_sink import LocalSink, put_values, raises
from tests.unit.worker.source.local_source import LocalSource, frame


def test_the_end_of_a_source_task_closes_its_transforms() -> None:
    source = LocalSource()
    source.run(lambda: iter([frame(1, "a")]))
    assert source.closed == ["transform", "predicate"]


def test_the_failure_of_a_source_task_closes_its_transforms() -> None:
    source = LocalSource()
    source.plugin.on["start"] = [ValueError("no such file")]
    source.run(lambda: iter(()))
    assert source.closed == ["transform", "predicate"]


def test_the_end_of_a_sink_task_closes_its_transforms() -> None:
    sink = LocalSink()
    sink.run(put_values(sink, "a"))
    assert sink.closed == ["transform", "predicate"]


def test_the_failure_of_a_sink_task_closes_its_transforms() -> None:
    sink = LocalSink()
    sink.plugin.on["put"] = [raises(ValueError("the disk is full"))]
    sink.run(put_values(sink, "a"))
    assert sink.closed == ["transform", "predicate"]


def test_the_predicate_is_closed_when_its_transform_cannot_be(caplog: pytest.LogCaptureFixture) -> None:
    closed: list[str] = []
    close_chain([closing_stage(closed, ValueError("the connection is lost"))])
    assert closed == ["transform", "predicate"]
    assert "Failed to close transformation with type" in caplog.text

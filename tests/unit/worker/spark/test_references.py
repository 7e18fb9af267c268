"""Collections are short, however much a worker has loaded."""

import gc
import time
import weakref
from collections.abc import Iterator

import pytest

from connect_dagster.worker.spark import references


@pytest.fixture(autouse=True)
def nothing_left_out() -> Iterator[None]:
    """Collections look at all objects before and after a test."""
    gc.unfreeze()
    yield
    gc.unfreeze()


def test_what_makes_a_collection_long_is_left_out_of_the_next_ones() -> None:
    plans = [[number] for number in range(300_000)]
    references.let_go()
    assert gc.get_freeze_count() > len(plans)
    references.look_at_all()
    assert gc.get_freeze_count() == 0


def test_cycles_are_collected_that_a_task_has_kept() -> None:
    kept: list[object] = [[number] for number in range(300_000)]
    cycle: list[object] = []
    cycle.append(cycle)
    references.let_go()
    marks = len(gc.get_objects(generation=2))
    del kept, cycle
    references.look_at_all()
    assert gc.collect() >= 1
    assert len(gc.get_objects(generation=2)) > marks, "what was left out is looked at again"


class Connection:
    """Part of a cycle, as a closed connection of a client is."""

    def __init__(self) -> None:
        self.transport = self


def test_what_was_left_out_is_looked_at_once_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    """Failed: clients that came and went filled the memory of a worker whose tasks ran on."""
    kept = [[number] for number in range(300_000)]
    connection = Connection()
    gone = weakref.ref(connection)
    references.let_go()
    del connection
    references.let_go()
    assert gone() is not None, "it was left out"
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + 61)
    references.let_go()
    assert gone() is None
    assert gc.get_freeze_count() > len(kept), "what is alive is left out again"

"""Collections are short, however much a worker has loaded."""

import gc
import threading
import time
import weakref
from collections.abc import Iterator

import pytest

from connect_dagster.worker.spark import references


@pytest.fixture(autouse=True)
def nothing_left_out() -> Iterator[None]:
    """Collections look at all objects before and after a test, and none comes after tasks of other tests."""
    if (look := references._next_look) is not None:
        look.cancel()
        look.join()
        references._next_look = None
    gc.unfreeze()
    yield
    gc.unfreeze()


def test_what_makes_a_collection_long_is_left_out_of_the_next_ones() -> None:
    plans = [[number] for number in range(300_000)]
    references.let_go()
    assert gc.get_freeze_count() > len(plans)


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


def test_what_tasks_have_kept_is_looked_at_soon_after_their_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(references, "_LOOK_AFTER_END_SECONDS", 0.2)
    plans, kept = [[number] for number in range(300_000)], Connection()
    gone = weakref.ref(kept)
    references.let_go()
    del kept
    for _ in range(3):
        references.look_soon()
    looks = [one for one in threading.enumerate() if one.name == "look-at-references"]
    references.let_go()
    assert gone() is not None, "the next batch of another task does not wait for it"
    assert len(looks) == 1, "tasks that end together share a look"
    looks[0].join()
    assert gone() is None
    assert gc.get_freeze_count() > len(plans), "what is alive is left out again"

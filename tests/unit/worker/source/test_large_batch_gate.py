"""Turns of large batches: one at a time, but never behind one that waits. No brokers, no Spark."""

import threading
import time

from connect_dagster.worker.source.delivery import LargeBatchGate

LARGE = 10_000


def _never() -> bool:
    return False


def _seconds_to_enter(gate: LargeBatchGate, rows: int = LARGE) -> float:
    began = time.monotonic()
    with gate.admit(rows, _never):
        return time.monotonic() - began


def test_a_large_batch_waits_for_another() -> None:
    gate = LargeBatchGate()
    entered = threading.Event()

    def enter() -> None:
        with gate.admit(LARGE, _never):
            entered.set()

    with gate.admit(LARGE, _never):
        thread = threading.Thread(target=enter, daemon=True)
        thread.start()
        assert not entered.wait(0.3)
    assert entered.wait(10)
    thread.join(10)


def test_a_small_batch_passes_at_once() -> None:
    gate = LargeBatchGate()
    with gate.admit(LARGE, _never):
        assert _seconds_to_enter(gate, rows=10) < 1


def test_a_batch_that_waits_for_its_database_holds_others_for_two_seconds() -> None:
    """Fails at ce718d3: the turn is a lock, held for as long as a batch is read again; this would not return."""
    gate = LargeBatchGate()
    with gate.admit(LARGE, _never):
        assert 1.5 < _seconds_to_enter(gate) < 10
        assert _seconds_to_enter(gate) < 1, "the turn that lapsed does not come back"


def test_the_wait_is_measured() -> None:
    now = 0.0
    gate = LargeBatchGate(clock=lambda: now)
    with gate.admit(LARGE, _never) as first:
        now = 1.5

        def over() -> bool:
            nonlocal now
            now += 0.25
            return False

        with gate.admit(LARGE, over) as second, gate.admit(10, _never) as small:
            assert (first, second, small) == (0.0, 0.5, 0.0)


def test_a_task_that_stops_does_not_wait_for_its_turn() -> None:
    """Fails at ce718d3: a task is only abandoned while it waits for the lock."""
    gate, over = LargeBatchGate(clock=lambda: 0.0), threading.Event()  # whose turns never end
    with gate.admit(LARGE, _never):
        threading.Timer(0.2, over.set).start()
        with gate.admit(LARGE, over.is_set):
            assert over.is_set()

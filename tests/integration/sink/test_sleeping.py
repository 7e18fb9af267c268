"""A sink task that has had nothing to do for a while: it sleeps, costs next to nothing, and wakes on a record."""

import os
import time
from collections.abc import Callable

import psutil
import pytest

from tests.integration.sink.conftest import StartSink
from tests.integration.sink.kafka_topics import Topics
from tests.integration.sink.running_sink import RunningSink


def _await_sleep(sink: RunningSink) -> None:
    sink.wait(lambda: bool(sink.task()._watched), "sleep")


def _cpu_seconds() -> float:
    own = psutil.Process(os.getpid())
    times = [process.cpu_times() for process in (own, *own.children()) if process.name() in ("java", own.name())]
    return sum(one.user + one.system for one in times)


def test_a_sleeping_task_wakes_on_the_first_record(start_sink: StartSink, topics: Topics, topic_prefix: str) -> None:
    topic = topics.create(f"{topic_prefix}t", partitions=2)
    topics.write(topic, "a")
    sink = start_sink({"topics": topic})
    sink.await_values(1)
    for number, partition in enumerate((1, 0, 1)):
        _await_sleep(sink)
        topics.write(topic, [str(number)], partition)
        sink.await_values(number + 2, 20)
    assert sink.values() == ["a", "0", "1", "2"]
    topics.await_committed(sink.group, topic, {0: 2, 1: 2})
    assert len(sink.calls("open")) == 1


@pytest.mark.soak  # measures processor time, which needs a quiet machine
def test_a_sleeping_task_costs_little(
    start_sink: StartSink, topics: Topics, topic_prefix: str, record_property: Callable[[str, object], None]
) -> None:
    topic = topics.create(f"{topic_prefix}t")
    topics.write(topic, "a")
    sink = start_sink({"topics": topic})
    sink.await_values(1)
    _await_sleep(sink)
    cpu, began = _cpu_seconds(), time.monotonic()
    time.sleep(5)
    share = (_cpu_seconds() - cpu) / (time.monotonic() - began)
    record_property("cores of a sleeping sink", round(share, 4))
    assert sink.task()._watched
    assert share < 0.15, f"{share:.3f} cores"

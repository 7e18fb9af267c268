"""Functions are compiled once, however many tasks ask for them at once."""

import threading
from concurrent.futures import ThreadPoolExecutor

from connect_dagster.kafka.machine_code import compiled

TASKS = 8
SOURCE = """
define i64 @one_more(i64 %number) {
  %next = add i64 %number, 1
  ret i64 %next
}
"""


def test_tasks_that_start_at_once_share_the_code() -> None:
    """At 0b753a53 the engine of all but the last was dropped, and librdkafka called code that was gone."""
    ready = threading.Barrier(TASKS)

    def compile_together(_: int) -> object:
        ready.wait()
        return compiled(SOURCE)

    with ThreadPoolExecutor(TASKS) as pool:
        engines = list(pool.map(compile_together, range(TASKS)))
    assert all(engine is engines[0] for engine in engines)

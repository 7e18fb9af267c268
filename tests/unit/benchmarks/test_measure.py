"""The instruments of the benchmarks, on processes whose cost is known."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from benchmarks.measure import Deadline, InvalidCellError, ProcessTree, percentile

BUSY = "import time\nwhile time.process_time() < {seconds}: pass\n"
PARENT = "import subprocess, sys\nsubprocess.run([sys.executable, '-c', sys.argv[1]])\nprint(flush=True)\ninput()\n"


@contextmanager
def parent_of(child: str) -> "Iterator[subprocess.Popen[bytes]]":
    words = [sys.executable, "-c", PARENT, child]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            yield process
        finally:
            process.kill()


def test_processor_time_includes_children_that_have_ended() -> None:
    with parent_of(BUSY.format(seconds=0.5)) as process:
        assert process.stdout
        process.stdout.readline()
        assert 0.45 < ProcessTree(process.pid).cpu_seconds() < 2


def test_peak_memory_stays_when_it_is_given_back_and_resident_memory_falls() -> None:
    held = 200 << 20
    code = f"data = b'x' * {held}\ndel data\nprint(flush=True)\ninput()\n"
    words = [sys.executable, "-c", code]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout
        process.stdout.readline()
        processes = ProcessTree(process.pid)
        assert held < processes.peak_bytes() < held + (100 << 20)
        assert 0 < processes.resident_bytes() < 100 << 20
        process.kill()


def test_age_counts_from_the_start_of_the_process() -> None:
    began = time.monotonic()
    with parent_of("pass") as process:
        assert process.stdout
        process.stdout.readline()
        age = ProcessTree(process.pid).age_seconds()
        assert 0 < age < time.monotonic() - began + 0.02


def test_percentiles_are_values_that_occurred() -> None:
    values = [float(number) for number in range(100, 0, -1)]
    assert (percentile(values, 0.5), percentile(values, 0.99), percentile([7.0], 0.99)) == (50.0, 99.0, 7.0)


def test_a_deadline_says_what_was_waited_for() -> None:
    with pytest.raises(InvalidCellError, match="not within 0 s: the sun rises"):
        Deadline(0, "the sun rises").wait(lambda: False, 0.001)

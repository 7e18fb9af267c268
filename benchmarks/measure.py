"""The instruments: processor time and memory of a process with its children, clocks, percentiles, waiting."""

import math
import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import psutil

_TICKS = os.sysconf("SC_CLK_TCK")
# What holds the leash of a child process (connect_dagster.embedded.child_process) does not belong to the worker.
_LEASH = "child_process.py"
_IDLE_SHARE, _IDLE_SECONDS = 0.1, 0.3
# Positions in /proc/<pid>/stat behind the command's closing bracket: utime, stime, cutime, cstime; starttime.
_TIMES, _START = slice(11, 15), 19


class InvalidCellError(Exception):
    """An invalid cell: a worker failed, took too long, or moved other records than expected."""


class ProcessTree:
    """A process and all its descendants, read from `/proc`.

    Args:
        pid: the process.
    """

    def __init__(self, pid: int) -> None:
        self._root = psutil.Process(pid)

    def cpu_seconds(self) -> float:
        """Return the processor time of all of them, including ended ones that were waited for."""
        return sum(sum(map(int, _stat(pid)[_TIMES])) for pid in self._pids()) / _TICKS

    def peak_bytes(self) -> int:
        """Return the sum of each one's peak resident memory (`VmHWM`): an upper bound."""
        return sum(_memory(pid, "VmHWM") for pid in self._pids())

    def resident_bytes(self) -> int:
        """Return the sum of each one's resident memory (`VmRSS`): shared pages count several times."""
        return sum(_memory(pid, "VmRSS") for pid in self._pids())

    def age_seconds(self) -> float:
        """Return the time since the process was started, to a hundredth."""
        return time.clock_gettime(time.CLOCK_BOOTTIME) - int(_stat(self._root.pid)[_START]) / _TICKS

    def settle(self, seconds: float = 5.0) -> None:
        """Wait until nearly no processor time is used any more, for so long at most."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            before = self.cpu_seconds()
            time.sleep(_IDLE_SECONDS)
            if self.cpu_seconds() - before <= _IDLE_SHARE * _IDLE_SECONDS:
                return

    def _pids(self) -> list[int]:
        family = [self._root, *self._root.children(recursive=True)]
        return [process.pid for process in family if not _holds_leash(process)]


@dataclass(frozen=True, slots=True)
class Window:
    """The duration and cost of a piece of work.

    Attributes:
        seconds: by the clock.
        cpu_seconds: of the worker's processes.
    """

    seconds: float
    cpu_seconds: float


class Stopwatch:
    """A measurement that begins when it is created.

    Args:
        processes: whose processor time counts.
    """

    def __init__(self, processes: ProcessTree) -> None:
        self._processes = processes
        self._cpu = processes.cpu_seconds()
        self._began = time.monotonic()

    def stop(self) -> Window:
        """Return the measurement so far."""
        seconds = time.monotonic() - self._began
        return Window(seconds, self._processes.cpu_seconds() - self._cpu)


class Deadline:
    """A point in time at which waiting ends.

    Args:
        seconds: from now.
        aim: what is waited for, for the message.
    """

    def __init__(self, seconds: float, aim: str) -> None:
        self._end = time.monotonic() + seconds
        self._text = f"not within {seconds:.0f} s: {aim}"

    def wait(self, condition: Callable[[], bool], poll_seconds: float) -> Self:
        """Poll until the condition holds.

        Raises:
            InvalidCellError: the time is over.
        """
        while not condition():
            self.check()
            time.sleep(poll_seconds)
        return self

    def check(self) -> None:
        """Raise `InvalidCellError` when the time is over."""
        if time.monotonic() > self._end:
            raise InvalidCellError(self._text)


def percentile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that this share of all values does not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def _holds_leash(process: psutil.Process) -> bool:
    with suppress(psutil.Error):
        return any(word.endswith(_LEASH) for word in process.cmdline())
    return False


def _stat(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ["0"] * 50  # it has ended since: its time is in its parent's


def _memory(pid: int, kind: str) -> int:
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith(f"{kind}:"):
                return int(line.split()[1]) * 1024
    return 0

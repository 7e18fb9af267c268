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
# What holds the leash of a child process (connect_dagster.embedded.leash) is no part of the worker.
_LEASH = "leash.py"
_IDLE_SHARE, _IDLE_SECONDS = 0.1, 0.3
# Positions in /proc/<pid>/stat behind the command's closing bracket: utime, stime, cutime, cstime; starttime.
_TIMES, _START = slice(11, 15), 19


class Void(Exception):
    """A cell that counts for nothing: a worker failed, took too long, or moved something else than it was given."""


class ProcessTree:
    """A process and all below it, read from `/proc`.

    Args:
        pid: the process.
    """

    def __init__(self, pid: int) -> None:
        self._root = psutil.Process(pid)

    def cpu_seconds(self) -> float:
        """Processor time that all of them have used, those included that have ended and been waited for."""
        return sum(sum(map(int, _stat(pid)[_TIMES])) for pid in self._pids()) / _TICKS

    def peak_bytes(self) -> int:
        """The most resident memory that each of them ever had (`VmHWM`), added up: an upper bound."""
        return sum(_memory(pid, "VmHWM") for pid in self._pids())

    def resident_bytes(self) -> int:
        """Memory that each of them has resident now (`VmRSS`), added up: what two share counts twice."""
        return sum(_memory(pid, "VmRSS") for pid in self._pids())

    def age_seconds(self) -> float:
        """Time since the process was started, to a hundredth."""
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
    """What a stretch of work took.

    Attributes:
        seconds: by the clock.
        cpu_seconds: of the worker's processes.
    """

    seconds: float
    cpu_seconds: float


class Stopwatch:
    """Measures from its making on.

    Args:
        processes: whose processor time counts.
    """

    def __init__(self, processes: ProcessTree) -> None:
        self._processes = processes
        self._cpu = processes.cpu_seconds()
        self._began = time.monotonic()

    def stop(self) -> Window:
        """What has passed."""
        seconds = time.monotonic() - self._began
        return Window(seconds, self._processes.cpu_seconds() - self._cpu)


class Deadline:
    """A point in time up to which something is waited for.

    Args:
        seconds: from now.
        aim: what is waited for, for the message.
    """

    def __init__(self, seconds: float, aim: str) -> None:
        self._end = time.monotonic() + seconds
        self._text = f"not within {seconds:.0f} s: {aim}"

    def wait(self, condition: Callable[[], bool], poll_seconds: float) -> Self:
        """Look again and again until the condition holds.

        Raises:
            Void: the time is over.
        """
        while not condition():
            self.check()
            time.sleep(poll_seconds)
        return self

    def check(self) -> None:
        """Raise `Void` when the time is over."""
        if time.monotonic() > self._end:
            raise Void(self._text)


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that this share of all values does not exceed."""
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

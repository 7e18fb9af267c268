"""How long a worker takes to answer one request, asked again and again while something else happens to it."""

import threading
import time
from types import TracebackType
from typing import Self

from tests.rest_calls import call

EVERY_SECONDS = 0.2


class AnswerTimes:
    """Asks on a thread, with a connection for each request; a context manager.

    Args:
        url: the server.
        target: of the request, `GET`.

    Attributes:
        seconds: of each answer with status 200.
        failures: what came in place of the others.
    """

    def __init__(self, url: str, target: str = "/") -> None:
        self.url = url
        self.target = target
        self.seconds: list[float] = []
        self.failures: list[str] = []
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._ask, name=f"GET {target}", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join(120)

    @property
    def longest(self) -> float:
        """Seconds of the slowest answer."""
        return max(self.seconds)

    def check(self, seconds: float) -> None:
        """Assert that all answers came, within a time."""
        assert self.failures == []
        assert self.seconds, f"{self.target} was not asked"
        assert self.longest <= seconds, f"GET {self.target} took {self}"

    def __str__(self) -> str:
        ordered = sorted(self.seconds)
        return f"{len(ordered)} answers, median {ordered[len(ordered) // 2]:.3f} s, longest {ordered[-1]:.3f} s"

    def _ask(self) -> None:
        while not self._ended.is_set():
            began = time.monotonic()
            try:
                answer = call(self.url, "GET", self.target)
            except OSError as error:
                self.failures.append(f"{type(error).__name__}: {error}")
            else:
                if answer.status == 200:
                    self.seconds.append(time.monotonic() - began)
                else:
                    self.failures.append(f"{answer.status}: {answer.body[:200]!r}")
            self._ended.wait(EVERY_SECONDS)

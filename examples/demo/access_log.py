"""Writes an access log as nginx does, in its `combined` format, at a steady rate: the demo's data."""

import random
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import count, islice
from pathlib import Path

BATCHES_PER_SECOND = 20
PATHS = ("/", "/products", "/products/{n}", "/cart", "/search?q=spark+{n}", "/static/app.js", "/img/{n}.webp")
STATUSES = (200, 200, 200, 200, 200, 200, 301, 304, 404, 500)
AGENTS = (
    "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 Version/18.5 Safari/605.1.15",
    "curl/8.14.1",
)


def access_log_lines(seed: int = 1) -> Iterator[str]:
    """Endless log lines without their newline; each one ends with its number, so no two are equal."""
    chance = random.Random(seed)
    for number in count(1):
        client = f"203.0.113.{chance.randrange(1, 255)}"
        moment = datetime.now(UTC).strftime("%d/%b/%Y:%H:%M:%S %z")
        path = chance.choice(PATHS).format(n=chance.randrange(1000))
        answer = f"{chance.choice(STATUSES)} {chance.randrange(200, 20_000)}"
        yield f'{client} - - [{moment}] "GET {path} HTTP/1.1" {answer} "-" "{chance.choice(AGENTS)}" {number}'


class AccessLogWriter(threading.Thread):
    """Appends lines to a file until told to stop.

    Args:
        file: The access log; created when missing.
        lines: How many lines to write at full rate.
        rate: That rate, in lines per second.
        trickle: Lines per second afterwards; 0 ends there.
    """

    def __init__(self, file: Path, lines: int, rate: int, trickle: int) -> None:
        super().__init__(name="access-log-writer", daemon=True)
        self._file = file
        self._lines = lines
        self._rate = rate
        self._trickle = trickle
        self._stopped = threading.Event()

    def run(self) -> None:
        """Write; ends after :meth:`stop`."""
        source = access_log_lines()
        with self._file.open("a", buffering=1) as log:
            for size in self._batch_sizes():
                log.write("".join(f"{line}\n" for line in islice(source, size)))
                log.flush()
                if self._stopped.wait(1 / BATCHES_PER_SECOND):
                    return

    def stop(self) -> None:
        """Stop writing, and wait for the last line."""
        self._stopped.set()
        self.join()

    def _batch_sizes(self) -> Iterator[int]:
        full = max(1, self._rate // BATCHES_PER_SECOND)
        for written in range(0, self._lines, full):
            yield min(full, self._lines - written)
        started = time.monotonic()
        written = 0
        while self._trickle:
            due = int((time.monotonic() - started) * self._trickle)
            yield due - written
            written = due

"""One embedded broker for all test processes of a run.

Every user holds a shared lock on one file, and the kernel drops it with the process, however that ends.
The first user starts a host process that owns the broker; the host stops it once it gets the lock for
itself. Users that come later find no state file and start the next host.
"""

import fcntl
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from connect_dagster.embedded.broker import EmbeddedBroker

START_SECONDS = 120
POLL_SECONDS = 0.2


@contextmanager
def shared_broker(directory: Path) -> Iterator[str]:
    """The `bootstrap.servers` of the run's broker; it runs at least as long as this context."""
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / "users").open("a") as users:
        fcntl.flock(users, fcntl.LOCK_SH)
        yield _found_or_started(directory)


def _found_or_started(directory: Path) -> str:
    state = directory / "bootstrap.servers"
    with (directory / "start").open("a") as start:
        fcntl.flock(start, fcntl.LOCK_EX)
        if not state.exists():
            _start_host(directory, state)
        return state.read_text()


def _start_host(directory: Path, state: Path) -> None:
    with (directory / "host.log").open("ab") as log:
        host = subprocess.Popen(
            [sys.executable, "-m", "tests.shared_broker", str(directory)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=Path(__file__).parents[1],
            start_new_session=True,
        )
    deadline = time.monotonic() + START_SECONDS
    while not state.exists():
        if host.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"the shared broker did not start:\n{(directory / 'host.log').read_text()}")
        time.sleep(POLL_SECONDS)


def _host(directory: Path) -> None:
    # The next host may start while this one's broker is still stopping.
    state, data = directory / "bootstrap.servers", directory / f"broker-{os.getpid()}"
    with EmbeddedBroker(data, 0) as broker, (directory / "users").open("a") as users:
        _publish(state, broker.bootstrap_servers)
        while not _alone(users.fileno()):
            time.sleep(POLL_SECONDS)
        # Whoever waits for the lock from here on sees no state file and starts a broker of its own.
        state.unlink()
    shutil.rmtree(data)


def _publish(state: Path, text: str) -> None:
    draft = state.with_suffix(".draft")
    draft.write_text(text)
    draft.replace(state)


def _alone(users: int) -> bool:
    try:
        fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


if __name__ == "__main__":
    _host(Path(sys.argv[1]))

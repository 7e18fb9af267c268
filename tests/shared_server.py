"""One server process for all test processes of a run.

Every user holds a shared lock on one file, and the kernel drops it with the process, however that ends.
The first user starts a host process that owns the server; the host stops it once it gets the lock for
itself. Users that come later find no state file and start the next host.
"""

import fcntl
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

START_SECONDS = 180
POLL_SECONDS = 0.2

_STATE = "address"


@contextmanager
def shared_server(directory: Path, module: str) -> Iterator[str]:
    """The address of the run's server; it runs at least as long as this context.

    Args:
        directory: the same for all processes of the run, and for this server alone.
        module: run as a program with the directory as its argument, it is to call `host`.
    """
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / "users").open("a") as users:
        fcntl.flock(users, fcntl.LOCK_SH)
        yield _found_or_started(directory, module)


def host(directory: Path, server: AbstractContextManager[str]) -> None:
    """Be the host process: run a server, which answers its address, until nobody uses it."""
    state = directory / _STATE
    with server as address, (directory / "users").open("a") as users:
        _publish(state, address)
        while not _alone(users.fileno()):
            time.sleep(POLL_SECONDS)
        # Whoever waits for the lock from here on sees no state file and starts a server of its own.
        state.unlink()


def _found_or_started(directory: Path, module: str) -> str:
    state = directory / _STATE
    with (directory / "start").open("a") as start:
        fcntl.flock(start, fcntl.LOCK_EX)
        if not state.exists():
            _start_host(directory, module, state)
        return state.read_text()


def _start_host(directory: Path, module: str, state: Path) -> None:
    with (directory / "host.log").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", module, str(directory)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=Path(__file__).parents[1],
            start_new_session=True,
        )
    deadline = time.monotonic() + START_SECONDS
    while not state.exists():
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"{module} did not start:\n{(directory / 'host.log').read_text()}")
        time.sleep(POLL_SECONDS)


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

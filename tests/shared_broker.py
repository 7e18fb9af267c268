"""One embedded broker for all test processes of a run, see `shared_server`."""

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from connect_dagster.embedded.broker import EmbeddedBroker
from tests.shared_server import host, shared_server

# Records have timestamps of any year. The brokers delete old ones, from five minutes after their start on.
_SETTINGS = {"log.retention.ms": "-1"}


def shared_broker(directory: Path) -> AbstractContextManager[str]:
    """The `bootstrap.servers` of the run's broker; it runs at least as long as this context."""
    return shared_server(directory, "tests.shared_broker")


@contextmanager
def _broker(directory: Path) -> Iterator[str]:
    # The next host may start while this one's broker is still stopping.
    data = directory / f"broker-{os.getpid()}"
    with EmbeddedBroker(data, 0, settings=_SETTINGS) as broker:
        yield broker.bootstrap_servers
    shutil.rmtree(data)


if __name__ == "__main__":
    host(Path(sys.argv[1]), _broker(Path(sys.argv[1])))

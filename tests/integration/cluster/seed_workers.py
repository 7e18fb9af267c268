"""Workers of groups as processes that start and stop side by side, and what the brokers say of their group."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from connect_dagster.kafka.groups import live_group
from connect_dagster.protocol.group_structs import Assignment
from tests.distributed_process import DistributedProcess
from tests.rest_calls import Answer

FIRST_LINES = "first message\nseconde line\n세번째 메시지\n"
"""What the first seed's file holds: 47 bytes, 35 characters."""
PLUGINS = Path(__file__).with_name("plugins")


@contextmanager
def started(*workers: DistributedProcess) -> Iterator[None]:
    """Start workers together, which takes little longer than one alone; stop those that still run together."""
    for worker in workers:
        worker.start()
    try:
        for worker in workers:
            worker.wait_ready()
        yield
    finally:
        with ThreadPoolExecutor(len(workers)) as pool:
            list(pool.map(DistributedProcess.stop, workers))


def leader_url(bootstrap_servers: str, group: str) -> str:
    """Where the group's leader takes requests, as its members were told."""
    (url,) = {
        Assignment.decode(member.assignment).leader_url for member in live_group(bootstrap_servers, group).members
    }
    return url


def create(worker: DistributedProcess, name: str, config: dict[str, Any]) -> Answer:
    """``POST /connectors``."""
    return worker.call("POST", "/connectors", {"name": name, "config": config})

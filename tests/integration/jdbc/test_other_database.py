"""A database that has no row of its own among the dialects' special cases: SQLite, by a driver on `plugin.path`."""

import json
import sqlite3
from pathlib import Path

import pytest

from tests.conftest import Broker
from tests.integration import topics
from tests.integration.jdbc.sqlite_source import plugin_path, source
from tests.integration.worker_process import WorkerProcess

pytestmark = pytest.mark.nightly


def test_a_driver_on_plugin_path(broker: Broker, topic_prefix: str, tmp_path: Path) -> None:
    file = tmp_path / "shop.db"
    with sqlite3.connect(file) as database:
        database.execute("CREATE TABLE things (id INTEGER PRIMARY KEY, name TEXT NOT NULL)")
        database.executemany("INSERT INTO things VALUES (?, ?)", [(1, "desk"), (2, "lamp")])
    config = {**source(file, topic_prefix), "poll.interval.ms": "200"}
    props = {"bootstrap.servers": broker.bootstrap_servers, "plugin.path": plugin_path(tmp_path)}
    with WorkerProcess(props, [], tmp_path / "worker") as worker:
        worker.call("PUT", f"/connectors/{topic_prefix}/config", config)
        topic = f"{topic_prefix}things"
        found = topics.values(broker.bootstrap_servers, topic, 2, timeout=60)
        with sqlite3.connect(file) as database:
            database.execute("INSERT INTO things VALUES (3, 'shelf')")
        found = topics.values(broker.bootstrap_servers, topic, 3, timeout=60)
    assert [json.loads(value)["payload"] for value in found] == [
        {"id": 1, "name": "desk"},
        {"id": 2, "name": "lamp"},
        {"id": 3, "name": "shelf"},
    ]

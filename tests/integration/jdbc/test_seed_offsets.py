"""Offsets of the seed's connectors: found again, taken over from older versions, and reset in each of its ways."""

import json
import subprocess
import sys
from pathlib import Path

from tests.databases import Database
from tests.integration.jdbc.conftest import JdbcWorker
from tests.integration.jdbc.test_seed_modes import ids, orders, products

COMMAND = Path(sys.executable).with_name("connect-dagster")
PRODUCTS_KEY = b'["mysql-time-source",{"protocol":"1","table":"kafkadb.products"}]'
THEN = 1642904785000
THEN_TEXT = "2022-01-23 02:26:25"


def fill_products(database: Database, *times: str) -> None:
    for number, time in enumerate(times, 1):
        database.execute(f"INSERT INTO products VALUES ({number}, 'p', '{THEN_TEXT}', '{time}')")


def test_s5_13_s5_24_found_again_and_reset_by_a_null(worker: JdbcWorker, kafkadb: Database, topic_prefix: str) -> None:
    name, topic = "mysql-time-source", f"{topic_prefix}products"
    fill_products(kafkadb, "2022-01-23 02:00:00", THEN_TEXT)
    with worker.running(name, products(kafkadb, topic_prefix)):
        worker.wait_offset(name, {"timestamp_nanos": 0, "timestamp": THEN})
        (record, *_) = worker.offset_records(name)
        assert record == (14, PRODUCTS_KEY, f'{{"timestamp_nanos":0,"timestamp":{THEN}}}'.encode())

        worker.stopped(name)
        worker.resumed(name)
        worker.process.wait_log(
            "Found offset {{table=products}=null, "
            "{protocol=1, table=kafkadb.products}={timestamp_nanos=0, timestamp=1642904785000}} "
            "for partition {protocol=1, table=kafkadb.products}"
        )
        worker.stopped(name)
        assert worker.size(topic) == 2

        write = ["topic", "--bootstrap-server", worker.broker.bootstrap_servers, "write", worker.offsets_topic]
        command: list[str | Path] = [COMMAND, *write, "--key", PRODUCTS_KEY.decode(), "--null"]
        told = subprocess.run(command, input="\n", text=True, capture_output=True)
        assert told.returncode == 0, told.stderr
        worker.process.wait_until(lambda: worker.offsets(name) == [], "forget the offset", 20)
        assert worker.offset_records(name)[-1] == (14, PRODUCTS_KEY, None)
        worker.resumed(name)
        assert ids(worker, topic, 4, "seq") == [1, 2, 1, 2]


def test_s5_14_an_offset_of_the_old_protocol(worker: JdbcWorker, kafkadb: Database, topic_prefix: str) -> None:
    topic = f"{topic_prefix}products"
    old, new = {"table": "products"}, {"protocol": "1", "table": "kafkadb.products"}
    fill_products(kafkadb, "2022-01-23 02:00:00", THEN_TEXT, "2022-01-23 03:00:00")

    def write(*offsets: tuple[dict[str, str], dict[str, int]]) -> None:
        body = {"offsets": [{"partition": partition, "offset": offset} for partition, offset in offsets]}
        answer = worker.process.call("PATCH", f"/connectors/{topic_prefix}/offsets", body)
        assert answer.status == 200, answer.body

    with worker.running(topic_prefix, {**products(kafkadb, topic_prefix), "tasks.max": "1"}):
        worker.stopped(topic_prefix)
        worker.process.call("DELETE", f"/connectors/{topic_prefix}/offsets")
        before = worker.size(topic) if worker.offset_records(topic_prefix) else 0
        write((old, {"timestamp": THEN}))
        worker.resumed(topic_prefix)
        assert ids(worker, topic, before + 1, "seq")[-1] == 3
        worker.process.wait_until(
            lambda: any(one["partition"] == new for one in worker.offsets(topic_prefix)), "write protocol 1", 20
        )

        worker.stopped(topic_prefix)
        write((old, {"timestamp": 0}), (new, {"timestamp": THEN, "timestamp_nanos": 0}))
        worker.resumed(topic_prefix)
        assert ids(worker, topic, before + 2, "seq")[-1] == 3


def test_s5_25_a_new_name_begins_anew(worker: JdbcWorker, kafkadb: Database, topic_prefix: str) -> None:
    kafkadb.execute("INSERT INTO orders VALUES (1, 'a', 'b'), (2, 'a', 'b')")
    for number, name in enumerate((topic_prefix, f"{topic_prefix}new"), 1):
        with worker.running(name, orders(kafkadb, topic_prefix)):
            worker.wait_offset(name, {"incrementing": 2})
        assert worker.size(f"{topic_prefix}orders") == 2 * number
    assert [json.loads(value or b"{}") for _, _, value in worker.offset_records(topic_prefix)] == [{"incrementing": 2}]


def test_s5_26_reset_over_rest(worker: JdbcWorker, kafkadb: Database, topic_prefix: str) -> None:
    kafkadb.execute("INSERT INTO orders VALUES (1, 'a', 'b'), (2, 'a', 'b')")
    with worker.running(topic_prefix, orders(kafkadb, topic_prefix)):
        worker.wait_offset(topic_prefix, {"incrementing": 2})
        assert worker.process.call("DELETE", f"/connectors/{topic_prefix}/offsets").status == 400
        worker.stopped(topic_prefix)
        answer = worker.process.call("DELETE", f"/connectors/{topic_prefix}/offsets")
        assert (answer.status, "reset" in str(answer.json)) == (200, True)
        worker.resumed(topic_prefix)
        assert ids(worker, f"{topic_prefix}orders", 4, "seq") == [1, 2, 1, 2]


def test_an_offset_that_is_none_is_refused(worker: JdbcWorker, kafkadb: Database, topic_prefix: str) -> None:
    with worker.running(topic_prefix, orders(kafkadb, topic_prefix)):
        worker.stopped(topic_prefix)
        body = {"offsets": [{"partition": {"table": "orders"}, "offset": {"position": 3}}]}
        answer = worker.process.call("PATCH", f"/connectors/{topic_prefix}/offsets", body)
    assert answer.status >= 400
    assert "needs 'incrementing' or 'timestamp'" in str(answer.json)

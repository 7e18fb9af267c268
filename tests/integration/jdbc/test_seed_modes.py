"""The seed's connectors, one for each mode: statements, order, messages and offsets."""

import json
import re
import time
from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.databases import Database, MariaDB
from tests.integration.jdbc.conftest import JdbcWorker, seed_database, source

TIMESTAMP_FIELD = (
    '{"type":"int64","optional":false,"name":"org.apache.kafka.connect.data.Timestamp","version":1,"field":'
)
CUSTOMER_SCHEMA = (
    '{"type":"struct","fields":[{"type":"int32","optional":false,"field":"id"},'
    '{"type":"string","optional":false,"field":"name"},{"type":"string","optional":false,"field":"email"},'
    f'{TIMESTAMP_FIELD}"created"}},{TIMESTAMP_FIELD}"modified"}}],"optional":false,"name":"customers"}}'
)
CUSTOMER = "('jyp', 'ypjeong@kafka.com', '2022-01-21 00:44:13', '2022-01-21 00:44:13')"
POLL_MS = 5000
CUSTOMERS_STATEMENT = (
    "SELECT * FROM `kafkadb`.`customers` WHERE `kafkadb`.`customers`.`modified` < ? "
    "AND ((`kafkadb`.`customers`.`modified` = ? AND `kafkadb`.`customers`.`id` > ?) "
    "OR `kafkadb`.`customers`.`modified` > ?) "
    "ORDER BY `kafkadb`.`customers`.`modified`,`kafkadb`.`customers`.`id` ASC"
)
PRODUCTS_STATEMENT = (
    "SELECT * FROM `kafkadb`.`products` WHERE `kafkadb`.`products`.`modified` > ? "
    "AND `kafkadb`.`products`.`modified` < ? ORDER BY `kafkadb`.`products`.`modified` ASC"
)


def customers(database: Database, prefix: str, **more: str) -> dict[str, str]:
    """The seed's connector1.properties."""
    columns = {"timestamp_column_name": "modified", "incrementing_column_name": "id"}
    return source(database, "timestamp+incrementing", prefix, table_whitelist="customers", **{**columns, **more})


def products(database: Database, prefix: str, **more: str) -> dict[str, str]:
    """The seed's connector2.properties."""
    return source(database, "timestamp", prefix, table_whitelist="products", timestamp_column_name="modified", **more)


def orders(database: Database, prefix: str, **more: str) -> dict[str, str]:
    """The seed's connector3.properties."""
    return source(database, "incrementing", prefix, table_whitelist="orders", incrementing_column_name="seq", **more)


def payloads(worker: JdbcWorker, topic: str, count: int) -> list[dict[str, Any]]:
    return [json.loads(value)["payload"] for value in worker.values(topic, count)]


def ids(worker: JdbcWorker, topic: str, count: int, column: str = "id") -> list[int]:
    return [payload[column] for payload in payloads(worker, topic, count)]


def test_s5_04_s5_05_s5_09_the_message_and_the_statement(
    worker: JdbcWorker, kafkadb: Database, topic_prefix: str
) -> None:
    kafkadb.execute(f"INSERT INTO customers (name, email, created, modified) VALUES {CUSTOMER}")
    before = worker.topics()
    with worker.running(topic_prefix, customers(kafkadb, topic_prefix)):
        (value,) = worker.values(f"{topic_prefix}customers", 1)
        worker.wait_offset(topic_prefix, {"timestamp_nanos": 0, "incrementing": 1, "timestamp": 1642725853000})
    assert value == (
        f'{{"schema":{CUSTOMER_SCHEMA},"payload":{{"id":1,"name":"jyp","email":"ypjeong@kafka.com",'
        '"created":1642725853000,"modified":1642725853000}}'
    )
    assert worker.statements(topic_prefix) == [CUSTOMERS_STATEMENT]
    made = {topic for topic in worker.topics() - before if topic.startswith(topic_prefix)}
    assert made == {f"{topic_prefix}customers"}
    assert worker.size(f"{topic_prefix}customers") == 1


def test_s5_09_times_are_in_the_zone_of_the_database(worker: JdbcWorker, kafkadb: Database, topic_prefix: str) -> None:
    kafkadb.execute(f"INSERT INTO customers (name, email, created, modified) VALUES {CUSTOMER}")
    config = customers(kafkadb, topic_prefix, db_timezone="Asia/Seoul")
    with worker.running(topic_prefix, config):
        (payload,) = payloads(worker, f"{topic_prefix}customers", 1)
        worker.wait_offset(topic_prefix, {"timestamp_nanos": 0, "incrementing": 1, "timestamp": 1642693453000})
    assert payload["created"] == payload["modified"] == 1642693453000


def test_s5_06_values_in_the_general_log(worker: JdbcWorker, mariadb: MariaDB, topic_prefix: str) -> None:
    # A name of its own: connectors of other tests may still end, and ask for the same rows.
    database = seed_database(mariadb, "logged")
    database.execute(f"INSERT INTO customers (name, email, created, modified) VALUES {CUSTOMER}")
    column, number = (rf"`logged`\.`customers`\.`{name}`" for name in ("modified", "id"))
    # The statement of a poll; the one that reads a batch may come after the next poll.
    values = re.compile(
        rf"SELECT MAX\(connect_time\), COUNT.*? WHERE \(*{column} < '(.*?)' "
        rf"AND \(\({column} = '(.*?)' AND {number} > (-?\d+)\) OR {column} > '(.*?)'\)"
    )
    delay = timedelta(minutes=1)
    config = customers(database, topic_prefix, timestamp_delay_interval_ms="60000")
    with mariadb.general_log() as log, worker.running(topic_prefix, config):
        ((began,),) = database.query("SELECT NOW()")
        worker.wait_offset(topic_prefix, {"timestamp_nanos": 0, "incrementing": 1, "timestamp": 1642725853000})
        after = ("2022-01-21 00:44:13", "1", "2022-01-21 00:44:13")
        worker.process.wait_until(lambda: values.findall(log())[-1][1:] == after, "poll again", 20)
        found = values.findall(log())
        ((ended,),) = database.query("SELECT NOW() + INTERVAL 1 SECOND")
    assert found[0][1:] == ("1970-01-01 00:00:00", "-1", "1970-01-01 00:00:00")
    assert found[-1][1:] == after
    ends = [datetime.fromisoformat(end) for end, *_ in found]
    assert ends == sorted(ends)
    assert began - delay <= ends[-1] <= ended - delay


def test_s5_07_rows_around_the_offset(worker: JdbcWorker, kafkadb: Database, topic_prefix: str) -> None:
    rows = [(5, 0), (6, 0), (4, 0), (2, 1), (9, -1)]
    with worker.running(topic_prefix, customers(kafkadb, topic_prefix)):
        for number, (id, seconds) in enumerate(rows):
            kafkadb.execute(
                f"INSERT INTO customers VALUES ({id}, 'n', 'e{id}', NOW(), "
                f"'2022-01-21 00:44:13' + INTERVAL {seconds} SECOND)"
            )
            if number == 0:
                worker.wait_offset(topic_prefix, {"timestamp_nanos": 0, "incrementing": 5, "timestamp": 1642725853000})
                worker.stopped(topic_prefix)
        kafkadb.execute("INSERT INTO customers VALUES (10, 'n', 'e10', NOW(), NOW() + INTERVAL 6 SECOND)")
        worker.resumed(topic_prefix)
        assert ids(worker, f"{topic_prefix}customers", 3) == [5, 6, 2]
        assert ids(worker, f"{topic_prefix}customers", 4) == [5, 6, 2, 10]


def test_s5_08_s5_10_inserts_an_update_and_the_offset(worker: JdbcWorker, kafkadb: Database, topic_prefix: str) -> None:
    name = "mysql-time-incre-source"
    with worker.running(name, customers(kafkadb, topic_prefix, poll_interval_ms=str(POLL_MS))):
        inserted = time.time() * 1000
        for who, mail in (("jyp", "ypjeong"), ("jyh", "yhjeon"), ("kky", "kykim")):
            kafkadb.execute(f"INSERT INTO customers(name, email) values('{who}','{mail}@kafka.com')")
        before = payloads(worker, f"{topic_prefix}customers", 3)
        ((latest,),) = kafkadb.query("SELECT UNIX_TIMESTAMP(MAX(modified)) * 1000 FROM customers")
        worker.wait_offset(name, {"timestamp_nanos": 0, "incrementing": 3, "timestamp": int(latest)})
        records = worker.offset_records(name)
        updated = time.time() * 1000
        kafkadb.execute("UPDATE customers SET name='x' WHERE id=1")
        after = payloads(worker, f"{topic_prefix}customers", 4)[3]
    assert [payload["id"] for payload in before] == [1, 2, 3]
    assert (after["id"], after["name"]) == (1, "x")
    assert after["modified"] > before[0]["modified"]
    sent = worker.timestamps(f"{topic_prefix}customers", 4)
    assert max(sent[:3]) - inserted <= POLL_MS + 2000
    assert sent[3] - updated <= POLL_MS + 2000
    assert records[-1] == (
        3,
        b'["mysql-time-incre-source",{"protocol":"1","table":"kafkadb.customers"}]',
        f'{{"timestamp_nanos":0,"incrementing":3,"timestamp":{int(latest)}}}'.encode(),
    )


def test_s5_11_s5_12_products_by_their_time(worker: JdbcWorker, kafkadb: Database, topic_prefix: str) -> None:
    topic = f"{topic_prefix}products"
    with worker.running(topic_prefix, products(kafkadb, topic_prefix)):
        kafkadb.execute("INSERT INTO products(name) values('computer')", "INSERT INTO products(name) values('mouse')")
        assert ids(worker, topic, 2, "seq") == [1, 2]
        kafkadb.execute(
            "UPDATE products SET modified = '2022-01-01 00:00:00' WHERE seq = 2",
            "UPDATE products SET modified = NOW() + INTERVAL 4 SECOND WHERE seq = 1",
        )
        ((future,),) = kafkadb.query("SELECT UNIX_TIMESTAMP(modified) FROM products WHERE seq = 1")
        late = payloads(worker, topic, 3)[2]
        ((now,),) = kafkadb.query("SELECT UNIX_TIMESTAMP()")
    assert list(late) == ["seq", "name", "created", "modified"]
    assert late["seq"] == 1
    assert now > future
    assert worker.statements(topic_prefix) == [PRODUCTS_STATEMENT]


def test_s5_15_microseconds_are_part_of_the_offset(worker: JdbcWorker, kafkadb: Database, topic_prefix: str) -> None:
    kafkadb.execute(
        "CREATE TABLE fine (a INT PRIMARY KEY, modified DATETIME(6) NOT NULL)",
        "INSERT INTO fine VALUES (1, '2022-01-23 02:26:25.123456')",
    )
    config = source(kafkadb, "timestamp", topic_prefix, table_whitelist="fine", timestamp_column_name="modified")
    with worker.running(topic_prefix, config):
        worker.wait_offset(topic_prefix, {"timestamp_nanos": 123456000, "timestamp": 1642904785123})
        worker.stopped(topic_prefix)
        kafkadb.execute("INSERT INTO fine VALUES (2, '2022-01-23 02:26:25.123457')")
        worker.resumed(topic_prefix)
        assert ids(worker, f"{topic_prefix}fine", 2, "a") == [1, 2]


def test_s5_17_s5_18_orders_by_their_number(worker: JdbcWorker, kafkadb: Database, topic_prefix: str) -> None:
    name, topic = "mysql-incre-source", f"{topic_prefix}orders"
    with worker.running(name, orders(kafkadb, topic_prefix)):
        for product in ("computer", "mouse", "keyboard"):
            kafkadb.execute(f"INSERT INTO orders(name, product) values('jyp', '{product}')")
        found = [json.loads(value) for value in worker.values(topic, 3)]
        worker.wait_offset(name, {"incrementing": 3})
        kafkadb.execute("UPDATE orders SET name='x' WHERE seq=1", "DELETE FROM orders WHERE seq=2")
        kafkadb.execute("INSERT INTO orders(name, product) values('jyp', 'screen')")
        assert ids(worker, topic, 4, "seq") == [1, 2, 3, 4]
        (first, *_) = worker.offset_records(name)
    assert [(f["field"], f["type"], f["optional"]) for f in found[0]["schema"]["fields"]] == [
        ("seq", "int32", False),
        ("name", "string", False),
        ("product", "string", False),
    ]
    assert first[:2] == (13, b'["mysql-incre-source",{"protocol":"1","table":"kafkadb.orders"}]')
    assert worker.statements(name) == [
        "SELECT * FROM `kafkadb`.`orders` WHERE `kafkadb`.`orders`.`seq` > ? ORDER BY `kafkadb`.`orders`.`seq` ASC"
    ]


def test_s5_20_bulk_sends_all_at_each_poll(worker: JdbcWorker, kafkadb: Database, topic_prefix: str) -> None:
    kafkadb.execute("INSERT INTO bulk_tab SELECT NULL, 'x' FROM seq_1_to_100000")
    topic = f"{topic_prefix}bulk_tab"
    with worker.running(topic_prefix, source(kafkadb, "bulk", topic_prefix, table_whitelist="bulk_tab")):
        first = json.loads(worker.values(topic, 1)[0])
        worker.process.wait_until(lambda: worker.size(topic) >= 200_000, "send all twice", 60)
        worker.stopped(topic_prefix)
    assert worker.size(topic) % 100_000 == 0
    assert [field["optional"] for field in first["schema"]["fields"]] == [True, True]
    assert first["payload"] == {"name": None, "log": "x"}
    assert worker.statements(topic_prefix) == ["SELECT * FROM `kafkadb`.`bulk_tab`"]
    assert worker.offset_records(topic_prefix) == []


@pytest.mark.parametrize(("mode", "column"), [("bulk", {}), ("incrementing", {"incrementing_column_name": "n"})])
def test_a_query(worker: JdbcWorker, kafkadb: Database, topic_prefix: str, mode: str, column: dict[str, str]) -> None:
    kafkadb.execute("INSERT INTO orders(name, product) values('jyp', 'computer'), ('jyp', 'mouse')")
    query = "SELECT seq AS n, product FROM orders"
    if mode == "incrementing":
        query = f"SELECT * FROM ({query}) t"
    config = source(kafkadb, mode, f"{topic_prefix}all", query=query, **column, poll_interval_ms="60000")
    with worker.running(topic_prefix, config):
        found = payloads(worker, f"{topic_prefix}all", 2)
        expected = [] if mode == "bulk" else [{"partition": {"query": "query"}, "offset": {"incrementing": 2}}]
        worker.process.wait_until(lambda: worker.offsets(topic_prefix) == expected, "commit", 20)
    assert found == [{"n": 1, "product": "computer"}, {"n": 2, "product": "mouse"}]


def test_a_suffix_limits_each_statement(worker: JdbcWorker, kafkadb: Database, topic_prefix: str) -> None:
    kafkadb.execute("INSERT INTO orders SELECT seq, 'a', 'b' FROM seq_1_to_7")
    config = orders(kafkadb, topic_prefix, query_suffix="LIMIT 3")
    with worker.running(topic_prefix, config):
        assert ids(worker, f"{topic_prefix}orders", 7, "seq") == [1, 2, 3, 4, 5, 6, 7]
        worker.wait_offset(topic_prefix, {"incrementing": 7})
    assert worker.statements(topic_prefix)[0].endswith("`seq` ASC LIMIT 3")

"""Tables shared out among tasks, and tables that come and go."""

from tests.databases import Database
from tests.integration.jdbc.conftest import JdbcWorker, source
from tests.integration.jdbc.test_seed_modes import customers, ids


def multi(database: Database, prefix: str, **more: str) -> dict[str, str]:
    config = source(database, "incrementing", prefix, incrementing_column_name="id", table_poll_interval_ms="1000")
    return {**config, **{key.replace("_", "."): value for key, value in more.items()}}


def with_tables(database: Database, *names: str) -> None:
    for name in names:
        database.execute(f"CREATE TABLE {name} (id INT PRIMARY KEY)", f"INSERT INTO {name} VALUES (1), (2)")


def test_s5_21_a_task_for_each_table(worker: JdbcWorker, kafkadb: Database, topic_prefix: str) -> None:
    with_tables(kafkadb, "multitab1", "multitab2")
    config = multi(kafkadb, topic_prefix, table_whitelist="multitab1,multitab2")
    with worker.running(topic_prefix, config, "RUNNING", "RUNNING", "RUNNING"):
        for number in (1, 2):
            assert ids(worker, f"{topic_prefix}multitab{number}", 2) == [1, 2]
        status = worker.process.call("GET", f"/connectors/{topic_prefix}/status").json
    assert [task["id"] for task in status["tasks"]] == [0, 1]
    assert status["type"] == "source"
    told = [line for line in worker.log_of(topic_prefix) if "Begin using SQL query" in line]
    for number in (1, 2):
        assert any(f"|task-{number - 1}]" in line and f"`multitab{number}`.`id` > ?" in line for line in told)


def test_s5_21_one_task_for_both_tables(worker: JdbcWorker, kafkadb: Database, topic_prefix: str) -> None:
    with_tables(kafkadb, "multitab1", "multitab2")
    config = multi(kafkadb, topic_prefix, table_whitelist="multitab1,multitab2", tasks_max="1")
    with worker.running(topic_prefix, config):
        for number in (1, 2):
            assert ids(worker, f"{topic_prefix}multitab{number}", 2) == [1, 2]
        wanted = [{"protocol": "1", "table": f"kafkadb.multitab{number}"} for number in (1, 2)]
        worker.process.wait_until(
            lambda: sorted((one["partition"] for one in worker.offsets(topic_prefix)), key=str) == wanted, "commit", 20
        )


def test_s5_22_the_configuration_of_a_task(worker: JdbcWorker, kafkadb: Database, topic_prefix: str) -> None:
    config = customers(kafkadb, topic_prefix)
    with worker.running(topic_prefix, config):
        (task,) = worker.process.call("GET", f"/connectors/{topic_prefix}/tasks").json
    assert task["id"] == {"connector": topic_prefix, "task": 0}
    assert task["config"] == {
        **config,
        "name": topic_prefix,
        "tables": "`kafkadb`.`customers`",
        "task.class": "io.confluent.connect.jdbc.source.JdbcSourceTask",
    }


def test_new_tables_are_found_and_dropped_ones_forgotten(
    worker: JdbcWorker, kafkadb: Database, topic_prefix: str
) -> None:
    with_tables(kafkadb, "multitab1")
    config = multi(kafkadb, topic_prefix, table_include_list=r"kafkadb\.multi.*", catalog_pattern="kafkadb")
    del config["incrementing.column.name"]
    config["incrementing.column.mapping"] = ".*:id"
    with worker.running(topic_prefix, config):
        assert ids(worker, f"{topic_prefix}multitab1", 2) == [1, 2]
        with_tables(kafkadb, "multitab2")
        worker.process.wait_states(topic_prefix, "RUNNING", "RUNNING", "RUNNING")
        assert ids(worker, f"{topic_prefix}multitab2", 2) == [1, 2]
        kafkadb.execute("DROP TABLE multitab1")
        worker.process.wait_states(topic_prefix, "RUNNING", "RUNNING")
        kafkadb.execute("INSERT INTO multitab2 VALUES (3)")
        assert ids(worker, f"{topic_prefix}multitab2", 3) == [1, 2, 3]
    assert worker.size(f"{topic_prefix}multitab1") == 2

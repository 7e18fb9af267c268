"""`exactly.once=true`: a record that comes again is not written again."""

from typing import Any

from tests.databases import Database, PostgreSQL
from tests.integration.jdbc.sink.conftest import ROUTED, Records, Sink, Sinks
from tests.integration.worker_process import WorkerProcess

PLAIN = Records({"id": "int32"})
CONFIG = {"auto.create": "true", "exactly.once": "true"}


def kept(sink: Sink) -> list[tuple[Any, ...]]:
    query = "SELECT topic, kafka_partition, next_offset FROM connect_offsets ORDER BY 2"
    return [(topic == sink.topic, partition, offset) for topic, partition, offset in sink.rows(query)]


def stopped(process: WorkerProcess, name: str) -> None:
    assert process.call("PUT", f"/connectors/{name}/stop").status == 204
    process.wait_states(name, "STOPPED")


def resumed(process: WorkerProcess, name: str) -> None:
    assert process.call("PUT", f"/connectors/{name}/resume").status == 202
    process.wait_states(name, "RUNNING", "RUNNING")


def test_the_database_knows_better_than_the_group(sinks: Sinks, database: Database) -> None:
    """As if the worker had died after the transaction and before the commit of the group's offsets."""
    with sinks.running(database, CONFIG, partitions=2) as sink:
        for partition in (0, 1):
            sink.send(*(PLAIN.record({"id": 10 * partition + id}) for id in range(3)), partition=partition)
        sink.await_rows([(id,) for id in (0, 1, 2, 10, 11, 12)])
        assert kept(sink) == [(True, 0, 3), (True, 1, 3)]
        stopped(sink.process, sink.name)
        offsets = f"/connectors/{sink.name}/offsets"
        # Asked of the group alone, as the connector would change the database's too.
        sinks.group_back_to_the_start(sink)
        resumed(sink.process, sink.name)
        sink.send(PLAIN.record({"id": 3}))
        sink.await_rows([(id,) for id in (0, 1, 2, 3, 10, 11, 12)])
        assert kept(sink) == [(True, 0, 4), (True, 1, 3)]
        # A user who resets the offsets wants the records again.
        stopped(sink.process, sink.name)
        assert sink.process.call("DELETE", offsets).status == 200
        resumed(sink.process, sink.name)
        sink.await_rows([(id,) for id in (0, 0, 1, 1, 2, 2, 3, 3, 10, 10, 11, 11, 12, 12)])


def test_offsets_are_those_of_the_topic_that_was_read(sinks: Sinks, database: Database) -> None:
    """Whatever a transform has made of its name."""
    with sinks.running(database, {**CONFIG, **ROUTED}) as sink:
        sink.send(*(PLAIN.record({"id": id}) for id in range(3)))
        rows = "SELECT id FROM routed ORDER BY id"
        sink.await_rows([(0,), (1,), (2,)], rows)
        assert kept(sink) == [(True, 0, 3)]
        stopped(sink.process, sink.name)
        sinks.group_back_to_the_start(sink)
        resumed(sink.process, sink.name)
        sink.send(PLAIN.record({"id": 3}))
        sink.await_rows([(0,), (1,), (2,), (3,)], rows)
        assert kept(sink) == [(True, 0, 4)]
        # A reset is one of the database as well, even if the group has nothing to forget.
        stopped(sink.process, sink.name)
        sinks.group_back_to_the_start(sink)
        assert sink.process.call("DELETE", f"/connectors/{sink.name}/offsets").status == 200
        assert kept(sink) == []


def test_another_task_that_is_ahead(sinks: Sinks, database: Database) -> None:
    """One that was thought dead has written the next record, and then this one comes to write it."""
    with sinks.running(database, CONFIG) as sink:
        sink.send(PLAIN.record({"id": 0}))
        sink.await_rows([(0,)])
        database.execute("UPDATE connect_offsets SET next_offset = 3")
        sink.send(*(PLAIN.record({"id": id}) for id in (1, 2, 3)))
        sink.await_rows([(0,), (3,)])
        assert kept(sink) == [(True, 0, 4)]


def test_a_topic_that_has_begun_anew(sinks: Sinks, postgresql: PostgreSQL) -> None:
    """Its records have the offsets of those that were written, and must not be left out for that."""
    database = postgresql.new_database()

    def has_failed() -> bool:
        sink.send(PLAIN.record({"id": 1}))  # after the stream has begun, which goes back to the end of the topic
        return "are written up to offset 1000, but the topic has come to offset" in sink.trace()

    with sinks.running(database, CONFIG) as sink:
        sink.send(PLAIN.record({"id": 0}))
        sink.await_rows([(0,)])
        stopped(sink.process, sink.name)
        database.execute("UPDATE connect_offsets SET next_offset = 1000")
        resumed(sink.process, sink.name)
        sink.process.wait_until(has_failed, "notice", 40)


def test_a_database_that_is_away_at_the_start(sinks: Sinks, postgresql: PostgreSQL) -> None:
    database = postgresql.new_database()
    postgresql.kill()
    config = {**CONFIG, "connection.attempts": "1", "max.retries": "60"}
    with sinks.running(database, config) as sink:
        sink.send(PLAIN.record({"id": 1}))
        sink.process.wait_until(lambda: f"[{sink.name}|task-0] Write failed" in sink.process.log(), "try", 30)
        postgresql.start()
        sink.await_rows([(1,)])
        assert kept(sink) == [(True, 0, 1)]

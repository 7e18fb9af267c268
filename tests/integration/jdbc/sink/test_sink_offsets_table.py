"""The table of offsets with ``exactly.once`` in each kind of database: created, and of an earlier version."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from pyspark.sql import SparkSession

from connect_dagster.connectors.jdbc.database import Connection, Database
from connect_dagster.connectors.jdbc.sink.offsets import OffsetsMovedError, SinkOffsets
from connect_dagster.connectors.jdbc.sink.offsets_table import OffsetsTable, WrittenOffset
from connect_dagster.embedded import jars
from connect_dagster.plugin.records import TopicPartition
from tests.databases import MariaDB, PostgreSQL

pytestmark = pytest.mark.nightly

PLACE = TopicPartition("t", 0)
OLD, NEW = {"t": "AnOldIdOfTheTopic-_00w"}, {"t": "ANewIdOfTheTopic-_000w"}
EARLIER = (
    "CREATE TABLE connect_offsets (connector VARCHAR(200) NOT NULL, topic VARCHAR(249) NOT NULL, "
    "kafka_partition INTEGER NOT NULL, next_offset BIGINT NOT NULL, PRIMARY KEY (connector, topic, kafka_partition))"
)
DRIVERS = {"h2": ("h2-driver", "org.h2.Driver"), "sqlite": ("sqlite-driver", "org.sqlite.JDBC")}


def _in_jar(spark: SparkSession, database: Database, kind: str) -> Connection:
    """Connect by a driver that the JVM was not started with."""
    jar_set, driver_class = DRIVERS[kind]
    context = cast("Any", spark)
    urls = context._sc._gateway.new_array(context._jvm.java.net.URL, 1)
    urls[0] = context._jvm.java.io.File(str(jars.resolve(jar_set)[0])).toURI().toURL()
    loaded = context._jvm.java.net.URLClassLoader(urls).loadClass(driver_class)
    driver = loaded.getDeclaredConstructor(context._sc._gateway.new_array(context._jvm.java.lang.Class, 0)).newInstance(
        context._sc._gateway.new_array(context._jvm.java.lang.Object, 0)
    )
    return Connection(database, driver.connect(database.url, context._jvm.java.util.Properties()))


@pytest.fixture(params=["postgresql", "mariadb", "derby", "h2", "sqlite"])
def connection(request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path) -> Iterator[Connection]:
    """A connection to an empty database, with transactions."""
    if request.param in ("postgresql", "mariadb"):
        server: PostgreSQL | MariaDB = request.getfixturevalue(request.param)
        config = server.new_database().connection_config
        user, password = config["connection.user"], SimpleNamespace(value=config["connection.password"])
        database = Database.of(config["connection.url"], user, cast("Any", password), {})
        opened = database.connect()
    elif request.param == "derby":
        opened = Database.of(f"jdbc:derby:{tmp_path}/db;create=true", None, None, {}).connect()
    else:
        opened = _in_jar(spark, Database.of(f"jdbc:{request.param}:{tmp_path}/db", None, None, {}), request.param)
    with closing(opened.java):
        opened.java.setAutoCommit(False)
        yield opened
        opened.rollback()


def _offsets(connection: Connection, ids: dict[str, str]) -> tuple[SinkOffsets, dict[TopicPartition, int]]:
    offsets = SinkOffsets("it's \\ a sink", connection.database.dialect)
    return offsets, offsets.open(connection, [PLACE], ids)


def _write(connection: Connection, offsets: SinkOffsets, end: int) -> None:
    offsets.write(connection, [cast("Any", SimpleNamespace(ends=lambda: {PLACE: end}))])
    connection.commit()
    offsets.committed()


def _kept(connection: Connection) -> dict[TopicPartition, WrittenOffset]:
    return OffsetsTable("it's \\ a sink", connection.database.dialect).read(connection)


def test_offsets_hold_for_the_topic_that_was_read(connection: Connection) -> None:
    """Fails at 1f0d1e0: an offset of the topic before held for the new one."""
    first, begun = _offsets(connection, OLD)
    assert begun == {}
    _write(connection, first, 3)
    again, begun = _offsets(connection, OLD)
    assert begun == {PLACE: 3}
    _write(connection, again, 4)
    new, begun = _offsets(connection, NEW)
    assert begun == {}
    _write(connection, new, 4)
    assert _kept(connection) == {PLACE: WrittenOffset(4, NEW["t"])}
    with pytest.raises(OffsetsMovedError):
        _write(connection, again, 5)
    connection.rollback()
    new.set(connection, {PLACE: 1})
    assert _kept(connection) == {PLACE: WrittenOffset(1)}


def test_a_table_of_an_earlier_version_is_taken_over(connection: Connection) -> None:
    connection.execute(EARLIER)
    columns = "connector, topic, kafka_partition, next_offset"
    connection.execute(f"INSERT INTO connect_offsets ({columns}) VALUES ('another', 't', 0, 9)")
    connection.commit()
    table = OffsetsTable("it's \\ a sink", connection.database.dialect)
    table.read(connection)
    table.insert(connection, PLACE, WrittenOffset(3))
    connection.commit()
    offsets, begun = _offsets(connection, OLD)
    assert begun == {PLACE: 3}
    assert _kept(connection) == {PLACE: WrittenOffset(3, OLD["t"])}
    _write(connection, offsets, 4)
    # As the earlier version goes on beside it.
    connection.execute(f"INSERT INTO connect_offsets ({columns}) VALUES ('another', 't', 1, 2)")
    connection.execute(
        "UPDATE connect_offsets SET next_offset = 10 WHERE connector = 'another' AND kafka_partition = 0"
    )
    connection.commit()
    assert _offsets(connection, NEW)[1] == {}
    assert _offsets(connection, OLD)[1] == {PLACE: 4}

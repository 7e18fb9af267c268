"""What a server is asked for, so that its log goes on where the last one ended."""

import struct
from uuid import UUID

import pytest

from connect_dagster.connectors.mysql.flavor import Flavor
from connect_dagster.connectors.mysql.positions.gtid import GtidSet, MySqlGtidSet
from connect_dagster.connectors.mysql.positions.gtid_sources import GtidSources
from connect_dagster.connectors.mysql.positions.position import Position
from connect_dagster.connectors.mysql.selection.regex_lists import NameFilter, RegexList
from connect_dagster.connectors.mysql.server.login import LogSession
from connect_dagster.connectors.mysql.stream.beginning import LogBeginning, LogFacts, Replica, log_beginning
from connect_dagster.connectors.mysql.stream.commands import DUMP, DUMP_GTID, REGISTER_REPLICA, register_replica

ONE, OTHER = "24bc7850-2c16-11e6-a073-0242ac110002", "3e11fa47-71ca-11e1-9e33-c80aa9429562"
NOTHING = MySqlGtidSet()
FILE = Position("binlog.000003", 501, events=2, rows=5, timestamp=1_700_000_000)


def sources(*included: str) -> GtidSources:
    return GtidSources(NameFilter(RegexList.of_items("gtid.source.includes", included), RegexList("excludes")))


def beginning(
    stored: Position,
    *,
    flavor: Flavor = Flavor.MYSQL,
    gtids: bool = True,
    purged: GtidSet = NOTHING,
    uses_gtids: bool = True,
    queries: bool = False,
    included: tuple[str, ...] = (),
) -> LogBeginning:
    facts = LogFacts(flavor, gtids, purged if flavor is Flavor.MYSQL else None, checksums=True)
    return log_beginning(stored, facts, Replica(77, LogSession(), sources(*included), uses_gtids, queries))


def by_gtids(gtids: str) -> Position:
    return Position("binlog.000003", 501, gtids)


def asked(found: LogBeginning) -> tuple[int, bytes]:
    register, dump = found.commands
    assert register.number == REGISTER_REPLICA
    return dump.number, dump.content


def test_a_position_of_a_file() -> None:
    found = beginning(FILE, gtids=False)
    assert asked(found) == (DUMP, struct.pack("<IHI", 501, 0, 77) + b"binlog.000003")
    assert (found.place.completed, found.place.skipped) == (None, (2, 5))
    assert (found.reading.gtids, found.reading.commit_times) == (False, False)
    assert found.place.micros == 1_700_000_000_000_000


def test_a_set_of_gtids() -> None:
    found = beginning(by_gtids(f"{ONE}:1-7:9"))
    number, content = asked(found)
    intervals = struct.pack("<QQQQQ", 2, 1, 8, 9, 10)
    assert number == DUMP_GTID
    assert content == struct.pack("<HIIQI", 0, 77, 0, 4, 64) + struct.pack("<Q", 1) + UUID(ONE).bytes + intervals
    assert str(found.place.completed) == f"{ONE}:1-7:9-9"
    assert (found.reading.gtids, found.reading.commit_times) == (True, True)


@pytest.mark.parametrize(
    ("stored", "included", "completed"),
    [
        (f"{ONE}:1-7", (), f"{ONE}:1-7,{OTHER}:1-5"),  # purged before this one was known
        (f"{ONE}:1-7,{OTHER}:1-9", (), f"{ONE}:1-7,{OTHER}:1-9"),
        (f"{ONE}:1-7,{OTHER}:1-9", (ONE,), f"{ONE}:1-7,{OTHER}:1-5"),
        ("", (), f"{OTHER}:1-5"),
    ],
)
def test_transactions_that_are_gone(stored: str, included: tuple[str, ...], completed: str) -> None:
    found = beginning(by_gtids(stored), purged=MySqlGtidSet.parse(f"{OTHER}:1-5"), included=included)
    assert str(found.place.completed) == completed


def test_gtids_that_do_not_count() -> None:
    assert asked(beginning(by_gtids(f"{ONE}:1-7"), uses_gtids=False))[0] == DUMP
    assert asked(beginning(by_gtids(f"{ONE}:1-7"), gtids=False))[0] == DUMP
    # A position of the time before the server had them.
    found = beginning(Position("binlog.000003", 501))
    assert (asked(found)[0], found.place.completed, found.reading.gtids) == (DUMP, None, True)


def test_mariadb_is_told_the_gtids_before() -> None:
    found = beginning(by_gtids("0-1-4711,1-1-12"), flavor=Flavor.MARIADB, queries=True)
    assert found.statements[-4:] == (
        "SET @mariadb_slave_capability = 4",
        "SET @slave_connect_state = '0-1-4711,1-1-12'",
        "SET @slave_gtid_strict_mode = 0",
        "SET @slave_gtid_ignore_duplicates = 0",
    )
    assert asked(found) == (DUMP, struct.pack("<IHI", 4, 2, 77))
    assert (found.reading.commit_times, found.reading.queries) == (False, True)


def test_the_checksums_are_asked_for() -> None:
    assert "SET @master_binlog_checksum = @@global.binlog_checksum" in beginning(FILE).statements


def test_a_replica_is_registered() -> None:
    command = register_replica(30001, "host", 8083)
    assert command.content == struct.pack("<I", 30001) + b"\4host\0\0" + struct.pack("<HII", 8083, 0, 0)

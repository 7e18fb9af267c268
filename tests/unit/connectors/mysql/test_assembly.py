"""Test the parts of a task that depend on its server."""

from typing import Any, cast

import pytest

from connect_dagster.connectors.mysql.assembly import log_facts
from connect_dagster.connectors.mysql.flavor import Flavor
from connect_dagster.connectors.mysql.positions.gtid import GtidSet, MySqlGtidSet

PURGED = MySqlGtidSet.parse("3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5")


class Server:
    """A server that counts how often it is asked for the transactions that are gone."""

    def __init__(self, flavor: Flavor) -> None:
        self.flavor = flavor
        self.asked = 0

    def purged(self) -> GtidSet:
        self.asked += 1
        return PURGED

    def has_gtids(self) -> bool:
        return True

    def has_checksums(self) -> bool:
        return True

    def retention_seconds(self) -> int:
        return 86_400


@pytest.mark.parametrize(("flavor", "asked", "purged"), [(Flavor.MYSQL, 1, PURGED), (Flavor.MARIADB, 0, None)])
def test_mysql_alone_is_asked_for_what_is_gone(flavor: Flavor, asked: int, purged: GtidSet | None) -> None:
    server = Server(flavor)
    facts = log_facts(cast("Any", server))
    assert (facts.flavor, facts.purged, server.asked) == (flavor, purged, asked)

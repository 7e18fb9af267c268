"""A worker does not join a group of Java's exactly-once tasks."""

import pytest

from connect_dagster.cli.worker.distributed import _check_before_joining
from connect_dagster.errors import ConnectError
from connect_dagster.isolation.plugins import Plugins
from connect_dagster.protocol.config_records import fencing_key, fencing_value, properties_value
from connect_dagster.protocol.config_state import ClusterConfigState, ConfigTable


def group(*fenced: str) -> ClusterConfigState:
    table = ConfigTable()
    entries = [("connector-lines", properties_value({"connector.class": "FileStreamSource"}))]
    entries += [(fencing_key(name), fencing_value(2)) for name in fenced]
    for offset, (key, value) in enumerate(entries):
        assert table.apply(key, value, offset).problem is None
    return table.snapshot()


def test_r17_a_group_with_fenced_tasks_is_not_joined() -> None:
    """At ce718d3 the worker joins; as leader it answers each fencing request with 500."""
    with pytest.raises(ConnectError, match=r"exactly.once.source.support=enabled, .* not support: lines\. Use"):
        _check_before_joining(group("lines"), Plugins(), "join")


@pytest.mark.parametrize("fenced", [(), ("deleted",)])
def test_other_groups_are_joined(fenced: tuple[str, ...]) -> None:
    _check_before_joining(group(*fenced), Plugins(), "refuse")

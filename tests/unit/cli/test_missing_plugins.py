"""A worker that lacks classes of the group's connectors refuses before it joins, and lists each of them."""

import pytest

from connect_dagster.cli.worker.distributed import _check_plugins
from connect_dagster.errors import ConnectError
from connect_dagster.isolation.plugins import Plugins
from connect_dagster.protocol.config_records import properties_value
from connect_dagster.protocol.config_state import ClusterConfigState, ConfigTable

BUNDLED = {
    "connector.class": "FileStreamSource",
    "key.converter": "org.apache.kafka.connect.json.JsonConverter",
    "header.converter": "org.apache.kafka.connect.storage.SimpleHeaderConverter",
    "transforms": "mask",
    "transforms.mask.type": "org.apache.kafka.connect.transforms.MaskField$Value",
}


def group(**changes: str) -> ClusterConfigState:
    table = ConfigTable()
    config = BUNDLED | {name.replace("_", "."): value for name, value in changes.items()}
    assert table.apply("connector-lines", properties_value(config), 0).problem is None
    return table.snapshot()


def test_bundled_plugins_are_all_there() -> None:
    _check_plugins(group(), Plugins(), "refuse")


@pytest.mark.parametrize("key", ["connector.class", "value.converter", "header.converter", "transforms.mask.type"])
def test_each_missing_class_is_listed_with_its_key(key: str) -> None:
    state = group(**{key.replace(".", "_"): "org.example.Missing"})
    with pytest.raises(ConnectError, match=rf"- org\.example\.Missing \({key} of connector lines\)"):
        _check_plugins(state, Plugins(), "refuse")


def test_with_join_nothing_is_refused() -> None:
    _check_plugins(group(header_converter="org.example.Missing"), Plugins(), "join")

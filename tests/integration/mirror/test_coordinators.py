"""Requests for groups whose coordinator is another broker than before, while both respond."""

from pathlib import Path

import pytest

from connect_dagster.connectors.mirror.clusters import ForwardingAdmin, GroupOffset
from connect_dagster.plugin.records import TopicPartition
from tests.integration.two_brokers import two_brokers

OFFSETS = "__consumer_offsets"


@pytest.mark.nightly
def test_groups_are_found_at_another_coordinator(tmp_path: Path) -> None:
    with two_brokers(tmp_path) as brokers:
        place = TopicPartition(brokers.create("topic"), 0)
        admin = ForwardingAdmin({"bootstrap.servers": brokers.bootstrap_servers})
        for number, broker in enumerate((1, 2, 1), start=1):
            brokers.move(OFFSETS, broker)
            assert admin.idle_groups(["group", "none"]) == ({"group", "none"}, {})
            admin.alter_group_offsets("group", {place: GroupOffset(number, "text")})
            found = {"group": {place: GroupOffset(number, "text")}, "none": {}}
            assert admin.group_offsets(["group", "none"]) == (found, {})
            assert admin.consumer_groups().count("group") == 1

"""Translated offsets set in the target, as values and as a job's run."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

import dagster as dg
import pytest
from confluent_kafka import KafkaError, KafkaException
from dagster import DagsterInstance

from connect_dagster.connectors.mirror.clusters import ForwardingAdmin, GroupOffset
from connect_dagster.orchestration import KafkaConnectWorkspace, build_mirror_sync_groups_job
from connect_dagster.orchestration.ops import mirror, mirror_groups
from connect_dagster.orchestration.ops.mirror_groups import GroupChange, changes_metadata, set_translated_offsets
from connect_dagster.plugin.records import TopicPartition
from tests.unit.orchestration.connect_server import connect_server
from tests.unit.orchestration.observations.test_checkpoints import BILLING

PLACE = TopicPartition("eu.orders", 0)
Offsets = dict[TopicPartition, GroupOffset]


@dataclass
class Target(ForwardingAdmin):
    """A cluster with groups: their offsets, and those that have members."""

    groups: dict[str, Offsets] = field(default_factory=dict)
    used: frozenset[str] = frozenset()

    def empty_groups(self, groups: Collection[str]) -> set[str]:
        return {group for group in groups if group in self.groups and group not in self.used}

    def group_offsets(self, groups: Iterable[str]) -> dict[str, Offsets]:
        return {group: self.groups[group] for group in groups}

    def alter_group_offsets(self, group: str, offsets: Mapping[TopicPartition, GroupOffset]) -> None:
        if group in self.used:
            raise KafkaException(KafkaError(KafkaError.UNKNOWN_MEMBER_ID))
        self.groups.setdefault(group, {}).update(offsets)


def test_a_group_that_the_target_does_not_know_gets_its_offsets() -> None:
    target = Target()
    assert set_translated_offsets(target, [replace(BILLING, metadata="m")]) == [
        GroupChange("billing", {("eu.orders", 0): 990})
    ]
    assert target.groups == {"billing": {PLACE: GroupOffset(990, "m")}}


@pytest.mark.parametrize(("known", "after"), [(980, 990), (995, 995)])
def test_offsets_are_never_set_back(known: int, after: int) -> None:
    target = Target({"billing": {PLACE: GroupOffset(known)}})
    (change,) = set_translated_offsets(target, [BILLING])
    assert bool(change.offsets) == (known < after)
    assert target.groups["billing"][PLACE].offset == after


def test_groups_with_members_keep_theirs_and_others_are_set() -> None:
    target = Target({"billing": {PLACE: GroupOffset(5)}}, used=frozenset({"billing"}))
    changes = set_translated_offsets(target, [BILLING, replace(BILLING, group="audit")])
    assert changes == [
        GroupChange("audit", {("eu.orders", 0): 990}),
        GroupChange("billing", {}, "it has members in the target"),
    ]
    assert target.groups["billing"][PLACE].offset == 5
    metadata = changes_metadata(changes)
    assert (metadata["group_count"], metadata["groups_set"], metadata["groups_refused"]) == (2, 1, 1)
    (row,) = metadata["offsets"].records
    assert row.data == {"group": "audit", "topic": "eu.orders", "partition": 0, "offset": 990}


def test_partitions_that_the_target_lacks_are_left_out() -> None:
    target = Target()
    assert set_translated_offsets(target, [replace(BILLING, end=None)]) == []
    assert target.groups == {}


def test_a_run_sets_the_chosen_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    target = Target()
    monkeypatch.setattr(mirror, "fetch_translated_offsets", lambda *_: [BILLING, replace(BILLING, group="audit")])
    monkeypatch.setattr(mirror_groups, "_target", lambda *_: target)
    with connect_server(bootstrap_servers="us:9092", kafka_cluster="us") as server:
        server.create("checkpoints", connector_class="MirrorCheckpointConnector", source_cluster_alias="eu")
        job = build_mirror_sync_groups_job(workspace=server.workspace)
        config = {"ops": {"mirror_sync_groups_op": {"config": {"groups": ["audit"]}}}}
        with DagsterInstance.ephemeral() as instance:
            result = job.execute_in_process(config, instance=instance)
    assert list(target.groups) == ["audit"]
    (output,) = (event for event in result.all_events if event.is_successful_output)
    assert output.step_output_data.metadata["offsets_set"].value == 1


def test_the_job_needs_brokers() -> None:
    with pytest.raises(dg.DagsterInvalidDefinitionError, match="give bootstrap_servers to the workspace 'local'"):
        build_mirror_sync_groups_job(workspace=KafkaConnectWorkspace())

"""Translated offsets set in the target, as values and as a job's run."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

import dagster as dg
import pytest
from confluent_kafka import KafkaError, KafkaException
from dagster import DagsterInstance

from connect_dagster.connectors.mirror.clusters import Errors, ForwardingAdmin, GroupOffset
from connect_dagster.orchestration import KafkaConnectWorkspace, build_mirror_sync_groups_job
from connect_dagster.orchestration.observations.checkpoints import TranslatedOffset
from connect_dagster.orchestration.observations.topic_offsets import Bounds
from connect_dagster.orchestration.ops import mirror, mirror_groups
from connect_dagster.orchestration.ops.mirror_groups import GroupChange, changes_metadata, set_translated_offsets
from connect_dagster.plugin.records import TopicPartition
from tests.unit.orchestration.connect_server import connect_server
from tests.unit.orchestration.observations.test_checkpoints import BILLING

PLACE = TopicPartition("eu.orders", 0)
Offsets = dict[TopicPartition, GroupOffset]


@dataclass
class Target(ForwardingAdmin):
    """A cluster with groups: their offsets, those that have members, and those whose coordinator does not respond."""

    groups: dict[str, Offsets] = field(default_factory=dict)
    used: frozenset[str] = frozenset()
    unknown: frozenset[str] = frozenset()
    refused: frozenset[str] = frozenset()

    def idle_groups(self, groups: Collection[str]) -> tuple[set[str], Errors]:
        unknown = dict.fromkeys({*groups} & self.unknown, KafkaException(KafkaError(KafkaError._TIMED_OUT)))
        return {*groups} - self.used - self.unknown, unknown

    def group_offsets(self, groups: Iterable[str]) -> tuple[dict[str, Offsets], Errors]:
        return {group: self.groups.get(group, {}) for group in groups}, {}

    def alter_group_offsets(self, group: str, offsets: Mapping[TopicPartition, GroupOffset]) -> None:
        if group in self.used:
            raise KafkaException(KafkaError(KafkaError.UNKNOWN_MEMBER_ID))
        if group in self.refused:
            raise KafkaException(KafkaError(KafkaError.GROUP_AUTHORIZATION_FAILED, "Access denied"))
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


def test_groups_that_cannot_be_described_keep_theirs() -> None:
    target = Target({"billing": {PLACE: GroupOffset(5)}}, unknown=frozenset({"billing"}))
    audit, billing = set_translated_offsets(target, [BILLING, replace(BILLING, group="audit")])
    assert audit.offsets
    assert (billing.offsets, "Timed out" in billing.refusal) == ({}, True)
    assert target.groups["billing"][PLACE].offset == 5
    with pytest.raises(KafkaException, match="Timed out"):
        set_translated_offsets(target, [BILLING])


def test_a_group_whose_members_leave_meanwhile_is_not_set_back() -> None:
    class Left(Target):
        def alter_group_offsets(self, group: str, offsets: Mapping[TopicPartition, GroupOffset]) -> None:
            raise AssertionError("its offsets are not known")

    target = Left({"billing": {PLACE: GroupOffset(995)}}, used=frozenset({"billing"}))
    assert set_translated_offsets(target, [BILLING]) == [GroupChange("billing", {}, "it has members in the target")]


def test_a_group_that_gets_members_meanwhile_is_refused() -> None:
    class Joined(Target):
        def idle_groups(self, groups: Collection[str]) -> tuple[set[str], Errors]:
            return {*groups}, {}

    changes = set_translated_offsets(Joined(used=frozenset({"billing"})), [BILLING])
    assert changes == [GroupChange("billing", {}, "it has members in the target")]


def test_partitions_and_records_that_the_target_lacks_are_left_out() -> None:
    target = Target()
    outside = [replace(BILLING, bounds=Bounds(0, 5)), replace(BILLING, bounds=Bounds(995, 1000))]
    assert set_translated_offsets(target, [replace(BILLING, bounds=None), *outside]) == []
    assert target.groups == {}


def launch(
    monkeypatch: pytest.MonkeyPatch, target: Target, offsets: list[TranslatedOffset], groups: list[str]
) -> dg.ExecuteInProcessResult:
    monkeypatch.setattr(mirror, "fetch_translated_offsets", lambda *_: offsets)
    monkeypatch.setattr(mirror_groups, "_target", lambda *_: target)
    with connect_server(bootstrap_servers="us:9092", kafka_cluster="us") as server:
        server.create("checkpoints", connector_class="MirrorCheckpointConnector", source_cluster_alias="eu")
        job = build_mirror_sync_groups_job(workspace=server.workspace)
        config = {"ops": {"mirror_sync_groups_op": {"config": {"groups": groups}}}}
        with DagsterInstance.ephemeral() as instance:
            return job.execute_in_process(config, instance=instance, raise_on_error=False)


def test_a_run_sets_the_chosen_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    target, lacking = Target(), replace(BILLING, group="audit", partition=1, bounds=None)
    outside = replace(BILLING, group="audit", partition=2, bounds=Bounds(0, 5))
    result = launch(monkeypatch, target, [BILLING, replace(BILLING, group="audit"), lacking, outside], ["audit"])
    assert list(target.groups) == ["audit"]
    (output,) = (event for event in result.all_events if event.is_successful_output)
    found = output.step_output_data.metadata
    numbers = ("offsets_set", "partitions_missing", "partitions_out_of_range")
    assert [found[name].value for name in numbers] == [1, 1, 1]


def test_a_run_that_the_brokers_refuse_a_group_sets_the_others_and_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    target = Target({"used": {}}, used=frozenset({"used"}), refused=frozenset({"audit"}))
    result = launch(monkeypatch, target, [replace(BILLING, group=group) for group in ("audit", "billing", "used")], [])
    (event,) = result.get_step_failure_events()
    failure = event.step_failure_data.user_failure_data
    assert failure is not None
    assert failure.description == "The brokers refuse the offsets of 1 of 3 groups: 'audit': Access denied"
    assert failure.metadata["groups_set"].value == 1
    assert target.groups["billing"] == {PLACE: GroupOffset(990)}


def test_the_job_needs_brokers() -> None:
    with pytest.raises(dg.DagsterInvalidDefinitionError, match="give bootstrap_servers to the workspace 'local'"):
        build_mirror_sync_groups_job(workspace=KafkaConnectWorkspace())

"""Options of flows change what goes over, as their descriptions say."""

from collections.abc import Iterator

import pytest

from connect_dagster.connectors.mirror.records import Checkpoint, OffsetSync
from tests.conftest import Broker
from tests.distributed_process import DistributedProcess
from tests.integration.mirror.clusters import Cluster, eventually
from tests.integration.mirror.conftest import Flow, mirror_properties
from tests.integration.mirror.test_topics import config_of
from tests.integration.mirror.writing import check_syncs

pytestmark = pytest.mark.nightly

COMPANY = '''
"""Classes that a company gives to its flows."""

import logging

from connect_dagster.connectors.mirror.clusters import ForwardingAdmin
from connect_dagster.connectors.mirror.filters import TopicFilter
from connect_dagster.connectors.mirror.names import DefaultReplicationPolicy
from connect_dagster.plugin import SourceConnector  # noqa: F401 (a module on plugin.path imports the plugin API)

log = logging.getLogger(__name__)


class CopyPolicy(DefaultReplicationPolicy):
    """Names a topic by its source and "copy"."""

    def format_remote_topic(self, source: str, topic: str) -> str:
        return f"{source}.copy-{topic}"


class PublicTopics(TopicFilter):
    """Accepts topics that are public."""

    def should_replicate_topic(self, topic: str) -> bool:
        return topic.endswith("-public")


class LoggingAdmin(ForwardingAdmin):
    """Logs what it changes."""

    def create_topics(self, topics):
        log.info("The company creates %s", ", ".join(topic.name for topic in topics))
        return super().create_topics(topics)

    def create_partitions(self, counts):
        log.info("The company grows %s", dict(counts))
        return super().create_partitions(counts)

    def alter_topic_settings(self, alterations):
        log.info("The company alters %s", ", ".join(alterations))
        return super().alter_topic_settings(alterations)
'''


@pytest.fixture(scope="module")
def worker(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DistributedProcess]:
    """A worker with a company's classes."""
    plugins = tmp_path_factory.mktemp("plugins")
    (plugins / "company_mirror.py").write_text(COMPANY)
    props = mirror_properties(broker.bootstrap_servers, plugin_path=str(plugins))
    with DistributedProcess(props, tmp_path_factory.mktemp("worker")) as running:
        yield running


def test_no_offset_syncs_where_they_are_off(flow: Flow, source: Cluster, target: Cluster) -> None:
    topic = source.create(f"{flow.alias}-t")
    source.produce(topic, [{"value": b"1"}])
    config = flow.config("Source", {"topics": topic, "emit.offset-syncs.enabled": "false"})
    del config["offset-syncs.topic.replication.factor"]  # refused without such a topic
    flow.create(f"{flow.alias}-source", config)
    target.read(flow.remote(topic), {0: 1})
    assert source.partitions(f"mm2-offset-syncs.target-of-{flow.alias}.internal") == 0


def test_offset_syncs_on_the_target_translate_as_well(flow: Flow, source: Cluster, target: Cluster) -> None:
    topic, group = source.create(f"{flow.alias}-t"), f"{flow.alias}-group"
    source.produce(topic, ({"value": str(number).encode()} for number in range(1_000)))
    source.commit(group, {(topic, 0): 1_000})
    there = {"offset-syncs.topic.location": "target"}
    flow.start("Source", topics=topic, **there)
    remote, syncs = flow.remote(topic), f"mm2-offset-syncs.{flow.alias}.internal"
    target.read(remote, {0: 1_000})
    flow.start("Checkpoint", topics=topic, groups=group, **there)
    checkpoints = f"{flow.alias}.checkpoints.internal"

    def translated() -> int:
        found = target.read_all(checkpoints).get(0, [])
        made = [Checkpoint.decode(one.key, one.value) for one in found]
        return max((one.downstream_offset for one in made if one is not None), default=0)

    eventually(lambda: translated() == 1_000, "the offset is translated")
    assert check_syncs(source, topic, target, remote, syncs, at=target) > 0
    assert source.partitions(f"mm2-offset-syncs.target-of-{flow.alias}.internal") == 0


@pytest.mark.parametrize("defaults", ["source", "target"])
def test_defaults_of_the_source_go_over_where_that_is_asked_for(
    flow: Flow, source: Cluster, target: Cluster, defaults: str
) -> None:
    topic = source.create(f"{flow.alias}-t", retention_ms="1000000")
    flow.start("Source", topics=topic, use_defaults_from=defaults)
    remote = flow.remote(topic)
    eventually(lambda: target.partitions(remote) == 1, "the topic is created")
    eventually(lambda: config_of(target, remote).get("retention.ms") == "1000000", "its settings follow")
    assert ("segment.ms" in config_of(target, remote)) == (defaults == "source")


def test_heartbeats_stay_where_they_are_not_replicated(flow: Flow, source: Cluster, target: Cluster) -> None:
    if not source.partitions("heartbeats"):
        source.create("heartbeats")
    topic = source.create(f"{flow.alias}-t")
    source.produce(topic, [{"value": b"1"}])
    flow.start("Source", topics=topic, heartbeats_replication_enabled="false")
    target.read(flow.remote(topic), {0: 1})
    assert target.partitions(f"{flow.alias}.heartbeats") == 0


def test_classes_of_a_company(flow: Flow, source: Cluster, target: Cluster) -> None:
    public, private = (source.create(f"{flow.alias}-{word}") for word in ("public", "private"))
    source.produce(public, [{"value": b"1"}])
    flow.start(
        "Source",
        replication_policy_class="company_mirror.CopyPolicy",
        topic_filter_class="company_mirror.PublicTopics",
        forwarding_admin_class="company_mirror.LoggingAdmin",
        heartbeats_replication_enabled="false",
    )
    copy = f"{flow.alias}.copy-{public}"
    assert target.read(copy, {0: 1})[0][0].value == b"1"
    assert target.partitions(f"{flow.alias}.copy-{private}") == 0
    source.grow(public, 2)
    eventually(lambda: target.partitions(copy) == 2, "the topic grows")
    for line in (f"creates {copy}", f"grows {{'{copy}': 2}}", f"alters {copy}"):
        flow.worker.wait_log(f"The company {line}", 60)


def test_transforms_predicates_and_tolerance(flow: Flow, source: Cluster, target: Cluster) -> None:
    """A record that a transform leaves out has no offset sync; one that fails is left out, and named."""
    topic = source.create(f"{flow.alias}-t")
    records = [b"1", None, b"no number", b"4"]
    source.produce(topic, ({"value": value} for value in records))
    name = flow.start(
        "Source",
        topics=topic,
        offset_lag_max="0",
        predicates="deleted",
        predicates_deleted_type="org.apache.kafka.connect.transforms.predicates.RecordIsTombstone",
        transforms="drop,route",
        transforms_drop_type="org.apache.kafka.connect.transforms.Filter",
        transforms_drop_predicate="deleted",
        transforms_route_type="org.apache.kafka.connect.transforms.RegexRouter",
        transforms_route_regex="(.*)-t",
        transforms_route_replacement="$1-routed",
    )
    routed = f"{flow.alias}.{flow.alias}-routed"
    found = target.read(routed, {0: 3})[0]
    assert [one.value for one in found] == [b"1", b"no number", b"4"]
    syncs = f"mm2-offset-syncs.target-of-{flow.alias}.internal"
    eventually(lambda: source.ends(syncs).get(0, 0) > 0, "offset syncs are written")

    def pairs() -> set[tuple[int, int]]:
        decoded = (OffsetSync.decode(one.key, one.value) for one in source.read_all(syncs)[0])
        return {(one.upstream_offset, one.downstream_offset) for one in decoded if one is not None}

    eventually(lambda: (3, 2) in pairs(), "the last record has a sync")
    assert pairs() <= {(0, 0), (2, 1), (3, 2)}
    assert flow.status(name)["tasks"][0]["state"] == "RUNNING"


def test_a_record_that_a_transform_cannot_take_is_left_out(flow: Flow, source: Cluster, target: Cluster) -> None:
    topic = source.create(f"{flow.alias}-t")
    marked = [("marked", b"")]
    source.produce(topic, ({"value": b"%d" % number, "headers": marked if number == 2 else []} for number in (1, 2, 3)))
    name = flow.start(
        "Source",
        topics=topic,
        errors_tolerance="all",
        errors_log_enable="true",
        predicates="marked",
        predicates_marked_type="org.apache.kafka.connect.transforms.predicates.HasHeaderKey",
        predicates_marked_name="marked",
        transforms="field",
        transforms_field_type="org.apache.kafka.connect.transforms.ExtractField$Value",
        transforms_field_field="any",
        transforms_field_predicate="marked",
    )
    found = target.read(flow.remote(topic), {0: 2})[0]
    assert [one.value for one in found] == [b"1", b"3"]
    assert flow.status(name)["tasks"][0]["state"] == "RUNNING"
    assert "Error encountered in task" in flow.worker.log()

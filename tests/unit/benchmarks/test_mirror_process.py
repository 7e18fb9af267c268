"""The file of a process that mirrors a topic, as both sides read it."""

import pytest

from benchmarks.contestants import CONTESTANTS, JAVA, OURS, TUNED, Contestant
from benchmarks.mirror.process import client_properties, flow_properties
from connect_dagster.connectors.mirror.flow import Flow
from connect_dagster.connectors.mirror.flow_configs import FlowConfig, read_flows, unused_properties
from connect_dagster.worker.config.source import SourceConnectorConfig

FLOW = Flow("a1", "b1")
FRAMEWORK = frozenset(key.name for key in SourceConnectorConfig.table())


def config(contestant: Contestant) -> FlowConfig:
    props = flow_properties(contestant, FLOW, {"a1": "localhost:1", "b1": "localhost:2"}, "mirrored-0", 2)
    process, (flow,) = read_flows(props, ["b1"], FRAMEWORK, dict)
    assert list(unused_properties(process, FRAMEWORK)) == []
    return flow


@pytest.mark.parametrize("contestant", CONTESTANTS, ids=lambda each: each.name)
def test_the_file_is_one_flow_of_one_topic(contestant: Contestant) -> None:
    flow = config(contestant)
    assert (flow.flow, flow.replicates, flow.worker["bootstrap.servers"]) == (FLOW, True, "localhost:2")
    assert (flow.source["topics"], flow.source["tasks.max"]) == ("mirrored-0", "2")
    assert flow.source["source.cluster.bootstrap.servers"] == "localhost:1"


def test_what_tunes_a_worker_tunes_the_consumer_of_the_source_and_the_producer_of_the_target() -> None:
    flow = config(TUNED)
    for name, value in TUNED.worker_props.items():
        given = flow.worker if name.startswith("producer.") else {k[7:]: v for k, v in flow.source.items()}
        assert given[name] == value


def test_only_the_tuned_process_has_settings_of_clients() -> None:
    assert [len(client_properties(each, FLOW)) for each in (JAVA, OURS)] == [0, 0]
    assert len(client_properties(TUNED, FLOW)) == len(TUNED.worker_props)

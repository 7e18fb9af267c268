from connect_dagster.orchestration.asset_keys import connector_key, file_key, topic_key
from connect_dagster.orchestration.lineage import build_connector_asset_specs, connector_lineage
from tests.unit.orchestration.answers import SINK, SOURCE


def test_a_source_reads_its_file_and_writes_its_topic() -> None:
    lineage = connector_lineage(SOURCE)
    assert (lineage.inputs, lineage.outputs) == ((file_key("/tmp/in.txt"),), (topic_key("logs"),))


def test_a_sink_reads_all_its_topics() -> None:
    lineage = connector_lineage({**SINK, "topics": "b, a"})
    assert lineage.inputs == (topic_key("a"), topic_key("b"))
    assert lineage.outputs == (file_key("/tmp/out.txt"),)


def test_topics_found_at_run_time_complete_a_sink_by_pattern() -> None:
    config = {"name": "s", "connector.class": "FileStreamSink", "topics.regex": "log.*"}
    assert connector_lineage(config, ["log-1", "log-2"]).inputs == (topic_key("log-1"), topic_key("log-2"))


def test_a_file_key_of_another_connector_is_no_file() -> None:
    assert connector_lineage({**SOURCE, "connector.class": "JdbcSource"}).inputs == ()


def test_s3_08_the_graph_is_connected_from_file_to_file() -> None:
    deps = {
        spec.key: {dep.asset_key for dep in spec.deps} for spec in build_connector_asset_specs("local", [SOURCE, SINK])
    }
    assert deps == {
        connector_key("local", "src"): {file_key("/tmp/in.txt")},
        topic_key("logs"): {connector_key("local", "src")},
        connector_key("local", "snk"): {topic_key("logs")},
        file_key("/tmp/in.txt"): set(),
        file_key("/tmp/out.txt"): {connector_key("local", "snk")},
    }


def test_a_topic_of_two_sources_depends_on_both() -> None:
    specs = build_connector_asset_specs("local", [SOURCE, {**SOURCE, "name": "second"}])
    topic = next(spec for spec in specs if spec.key == topic_key("logs"))
    assert {dep.asset_key for dep in topic.deps} == {connector_key("local", "src"), connector_key("local", "second")}

"""Links from assets to the code, the YAML and the files that define them."""

import inspect
from pathlib import Path
from typing import Any

import dagster as dg

from connect_dagster.orchestration import (
    ConnectorResource,
    ConnectWorkerResource,
    KafkaConnectConnectorComponent,
    KafkaConnectConnectorSpec,
    KafkaConnectWorkspace,
    build_connect_worker_definitions,
    build_connector_definitions,
    build_kafka_connect_assets_definitions,
    build_kafka_topic_assets,
    kafka_connect_assets,
)
from connect_dagster.orchestration.assets.keys import connector_key, file_key, group_key, topic_key, worker_key
from tests.unit.orchestration.components.sandbox import loaded

WORKSPACE = KafkaConnectWorkspace(url="http://nowhere:8083", bootstrap_servers="nowhere:9092")
SINK_FILE = "name=snk\nconnector.class=FileStreamSink\ntopics=lines\nfile=/tmp/out.txt\n"
SOURCE = {"name": "src", "connector_class": "FileStreamSource", "config": {"file": "/tmp/in.txt", "topic": "lines"}}


def links(defs: dg.Definitions | dg.AssetsDefinition) -> dict[dg.AssetKey, list[tuple[str, int | None]]]:
    """Links of each asset that has some: names of files, with lines."""
    specs = defs.resolve_all_asset_specs() if isinstance(defs, dg.Definitions) else list(defs.specs)
    found: dict[dg.AssetKey, list[tuple[str, int | None]]] = {}
    for spec in specs:
        value = spec.metadata.get("dagster/code_references")
        for link in value.code_references if isinstance(value, dg.CodeReferencesMetadataValue) else ():
            assert isinstance(link, dg.LocalFileCodeReference)
            assert Path(link.file_path).is_absolute()
            found.setdefault(spec.key, []).append((Path(link.file_path).name, link.line_number))
    return found


def here(offset: int) -> list[tuple[str, int | None]]:
    """The link to the line that is ``offset`` lines before the caller's."""
    frame = inspect.currentframe()
    assert frame is not None
    assert frame.f_back is not None
    return [(Path(__file__).name, frame.f_back.f_lineno - offset)]


def test_the_connectors_of_a_builder_link_to_its_call() -> None:
    connector: Any = ConnectorResource(
        workspace=WORKSPACE, name="src", connector_class="FileStreamSource", config={"topic": "t", "file": "/tmp/in"}
    )
    defs = build_connector_definitions(connector)
    assert links(defs) == {connector_key("local", "src"): here(1)}


def test_topics_workers_and_their_group_link_to_the_call() -> None:
    topics = build_kafka_topic_assets(workspace=WORKSPACE, topics=["orders"])
    assert links(topics) == {topic_key("orders"): here(1)}
    worker = ConnectWorkerResource(
        workspace=WORKSPACE,
        group_id="g",
        config_storage_topic="c",
        offset_storage_topic="o",
        status_storage_topic="s",
    )
    defs = build_connect_worker_definitions(workers={"w": worker})
    keys = [worker_key("w"), group_key("g"), *map(topic_key, "cos")]
    assert links(defs) == dict.fromkeys(keys, here(2))


def test_a_connector_of_a_file_links_to_it(tmp_path: Path) -> None:
    file = tmp_path / "snk.properties"
    file.write_text(SINK_FILE)
    spec = KafkaConnectConnectorSpec.from_file(file)
    defs = build_kafka_connect_assets_definitions(workspace=WORKSPACE, connectors=[spec])
    key = connector_key("local", "snk")
    assert links(defs) == {key: [*here(2), ("snk.properties", None)]}

    @kafka_connect_assets(workspace=WORKSPACE, connector=spec)
    def written(context: dg.AssetExecutionContext) -> None:
        pass

    assert links(written) == {key: [("snk.properties", None)]}
    (with_code,) = dg.with_source_code_references([written])
    assert isinstance(with_code, dg.AssetsDefinition)
    assert [name for name, _ in links(with_code)[key]] == ["snk.properties", Path(__file__).name]


def test_connectors_of_a_component_link_to_its_yaml_and_their_file() -> None:
    given = {
        "workspace": {"url": "http://nowhere:8083"},
        "connectors": [SOURCE, {"file": "snk.properties", "state": "paused"}],
    }
    with loaded(KafkaConnectConnectorComponent, given, {"snk.properties": SINK_FILE}) as (_, defs):
        found = links(defs)
    assert found[connector_key("local", "src")] == [("defs.yaml", 1)]
    assert found[connector_key("local", "snk")] == [("snk.properties", None), ("defs.yaml", 1)]


def test_definitions_that_read_one_table_are_merged() -> None:
    """Dagster takes two assets of one key for one when they are equal."""
    both = [
        build_kafka_connect_assets_definitions(
            workspace=WORKSPACE,
            connectors=[KafkaConnectConnectorSpec(name, "FileStreamSource", {"topic": name, "file": "/tmp/in.txt"})],
        )
        for name in ("one", "two")
    ]
    merged = dg.Definitions.merge(*both)
    dg.Definitions.validate_loadable(merged)
    assert file_key("/tmp/in.txt") in merged.resolve_asset_graph().get_all_asset_keys()

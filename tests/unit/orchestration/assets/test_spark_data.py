"""Data of SparkSource and SparkSink in the catalogue: assets, materialisations with numbers, columns."""

from typing import Any

import dagster as dg
from dagster import AssetKey, AssetMaterialization, DagsterInstance

from connect_dagster.client.lineage import connector_lineage
from connect_dagster.client.types import TaskProgress
from connect_dagster.herder.interface import ConnectorOffset
from connect_dagster.orchestration import (
    KafkaConnectWorkspace,
    SparkSinkResource,
    SparkSourceResource,
    build_connector_definitions,
    build_kafka_connect_assets_definitions,
    build_kafka_connect_polling_sensor,
)
from connect_dagster.orchestration.assets.keys import bucket_key, connector_key, file_key, table_key, topic_key
from connect_dagster.orchestration.observations.metadata import materialization_metadata
from connect_dagster.orchestration.observations.snapshot import ConnectorSnapshot
from tests.unit.orchestration.answers import connector
from tests.unit.orchestration.assets.test_column_schema import CUSTOMERS_COLUMNS, told
from tests.unit.orchestration.assets.test_schema_registry import registry
from tests.unit.orchestration.connect_server import connect_server

TOPIC = "mysql-customers"
LAKE = bucket_key("s3", "lake", "customers")
SINK = {
    "name": "lake",
    "connector.class": "SparkSink",
    "format": "delta",
    "options.path": "s3a://lake/customers",
    "topics": TOPIC,
}


def test_spark_connectors_are_one_line_from_table_to_lake() -> None:
    workspace = KafkaConnectWorkspace()
    defs = build_connector_definitions(
        SparkSourceResource(
            workspace=workspace,
            name="src",
            format="iceberg",
            topic=TOPIC,
            config={"options.path": "shop.customers"},
        ),
        SparkSinkResource(
            workspace=workspace, name="lake", topics=[TOPIC], format="delta", options_path="s3a://lake/customers"
        ),
    )
    line = [
        table_key("iceberg", ["shop", "customers"]),
        connector_key("local", "src"),
        topic_key(TOPIC),
        connector_key("local", "lake"),
        LAKE,
    ]
    graph = defs.resolve_asset_graph()
    assert [graph.get(key).parent_keys for key in line] == [set(), *({key} for key in line[:-1])]
    assert graph.get(connector_key("local", "lake")).kinds == {"kafka", "deltalake"}
    assert graph.get(LAKE).metadata["dagster/uri"] == "s3://lake/customers"


def test_the_sensor_materialises_what_a_sink_writes() -> None:
    with connect_server() as server, DagsterInstance.ephemeral() as instance:
        server.create(
            "lake", connector_class="SparkSink", format="parquet", options_path="/lake/orders", topics="orders"
        )
        place = {"kafka_topic": "orders", "kafka_partition": 0}
        server.herder.offsets["lake"] = [ConnectorOffset(place, {"kafka_offset": 70})]
        with dg.build_sensor_context(instance=instance) as context:
            result = build_kafka_connect_polling_sensor(workspace=server.workspace).evaluate_tick(context)
    moved = [event for event in result.asset_events if isinstance(event, AssetMaterialization)]
    assert [event.asset_key for event in moved] == [file_key("/lake/orders")]
    assert moved[0].metadata["offset_total"].value == 70


def progress(rows: int, batch: int) -> TaskProgress:
    return TaskProgress.model_validate(
        {
            "total_input_rows": rows,
            "input_rows_per_second": 10.0,
            "processed_rows_per_second": 20.0,
            "batch_id": batch,
            "duration_ms": {"addBatch": 30},
        }
    )


def test_a_materialisation_has_sparks_numbers_where_they_are_of_one_output() -> None:
    def metadata(config: dict[str, Any]) -> dict[str, Any]:
        lineage = connector_lineage(config)
        tasks = {"lake-0": progress(100, 7), "lake-1": progress(50, 9)}
        snapshot = ConnectorSnapshot(connector(config, "RUNNING", "RUNNING", "RUNNING"), lineage, (), tasks)
        return materialization_metadata(snapshot, lineage.outputs[0], 0.0)

    numbers = {key: value for key, value in metadata(SINK).items() if key in ("spark_rows_total", "batch_id")}
    assert numbers == {"spark_rows_total": 150, "batch_id": 9}
    tables = {**SINK, "connector.class": "JdbcSink", "connection.url": "jdbc:mysql://db/shop", "topics": "a, b"}
    assert "spark_rows_total" not in metadata(tables), "they are of both tables together"


def test_a_run_tells_the_columns_of_what_a_sink_writes_and_where_they_come_from() -> None:
    with registry() as url, connect_server(schema_registry_url=url) as server, DagsterInstance.ephemeral() as instance:
        server.create(
            "lake",
            connector_class="SparkSink",
            format="delta",
            options_path="s3a://lake/customers",
            topics=TOPIC,
            record_columns="topic, offset",
        )
        defs = build_kafka_connect_assets_definitions(workspace=server.workspace)
        selection = [connector_key("local", "lake")]
        job = defs.resolve_implicit_global_asset_job_def()
        assert job.execute_in_process(instance=instance, asset_selection=selection).success
        columns, lineage = materialized_columns(instance, LAKE)
    assert told(columns) == [*CUSTOMERS_COLUMNS, "kafka_topic string?", "kafka_offset int64?"]
    assert lineage.deps_by_column["email"] == [dg.TableColumnDep(topic_key(TOPIC), "email")]
    assert "kafka_topic" not in lineage.deps_by_column


def materialized_columns(instance: DagsterInstance, key: AssetKey) -> tuple[dg.TableSchema, dg.TableColumnLineage]:
    event = instance.get_latest_materialization_event(key)
    assert event is not None
    assert event.asset_materialization is not None
    metadata = event.asset_materialization.metadata
    columns, lineage = metadata["dagster/column_schema"].value, metadata["dagster/column_lineage"].value
    assert isinstance(columns, dg.TableSchema)
    assert isinstance(lineage, dg.TableColumnLineage)
    return columns, lineage

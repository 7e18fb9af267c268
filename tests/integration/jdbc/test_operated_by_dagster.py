"""The seed's JDBC sources, operated from Dagster: lineage and columns of a table's topic, offsets that are reset."""

from collections.abc import Iterator
from typing import Any

import dagster as dg
import pytest
from dagster import AssetKey, DagsterEventType, DagsterInstance

from connect_dagster import (
    JdbcSourceResource,
    KafkaConnectWorkspace,
    build_connector_definitions,
)
from connect_dagster.client.types import State
from connect_dagster.orchestration.assets.keys import connector_key, topic_key
from tests.databases import PASSWORD, USER, Database
from tests.integration.jdbc.conftest import JdbcWorker
from tests.integration.jdbc.test_seed_modes import CUSTOMER, ids
from tests.integration.jdbc.test_seed_offsets import THEN, THEN_TEXT, fill_products
from tests.unit.orchestration.assets.test_column_schema import CUSTOMERS_COLUMNS, told


@pytest.fixture(name="workspace")
def workspace_fixture(worker: JdbcWorker) -> KafkaConnectWorkspace:
    return KafkaConnectWorkspace(url=worker.process.rest_url, bootstrap_servers=worker.broker.bootstrap_servers)


@pytest.fixture(name="instance")
def instance_fixture() -> Iterator[DagsterInstance]:
    with DagsterInstance.ephemeral() as instance:
        yield instance


def jdbc_source(
    workspace: KafkaConnectWorkspace, database: Database, name: str, prefix: str, **fields: Any
) -> JdbcSourceResource:
    return JdbcSourceResource(
        workspace=workspace,
        name=name,
        connection_url=f"{database.jdbc_url}?user={USER}&password={PASSWORD}",
        topic_prefix=prefix,
        poll_interval_ms=500,
        **fields,
    )


def test_s3_08_s3_09_lineage_and_columns_of_a_table(
    worker: JdbcWorker,
    kafkadb: Database,
    topic_prefix: str,
    workspace: KafkaConnectWorkspace,
    instance: DagsterInstance,
) -> None:
    kafkadb.execute(f"INSERT INTO customers (name, email, created, modified) VALUES {CUSTOMER}")
    name, topic = f"{topic_prefix}source", f"{topic_prefix}customers"
    customers = jdbc_source(
        workspace,
        kafkadb,
        name,
        topic_prefix,
        mode="timestamp+incrementing",
        table_whitelist=["customers"],
        timestamp_column_name=["modified"],
        incrementing_column_name="id",
    )
    connector = connector_key("local", name)
    job = dg.define_asset_job("apply", selection=dg.AssetSelection.assets(connector))
    defs = dg.Definitions.merge(build_connector_definitions(customers), dg.Definitions(jobs=[job]))

    graph = defs.get_repository_def().asset_graph
    (table,) = graph.get(connector).parent_keys
    assert table.path[1:] == ["kafkadb", "customers"]
    assert graph.get(topic_key(topic)).parent_keys == {connector}
    assert graph.get(table).parent_keys == set()

    customers.apply()
    worker.values(topic, 1)
    assert defs.resolve_job_def("apply").execute_in_process(instance=instance).success
    assert told(columns_of(instance, topic_key(topic))) == CUSTOMERS_COLUMNS
    customers.delete()


def test_s3_11_the_reset_offsets_job_sends_a_table_again(
    worker: JdbcWorker,
    kafkadb: Database,
    topic_prefix: str,
    workspace: KafkaConnectWorkspace,
    instance: DagsterInstance,
) -> None:
    fill_products(kafkadb, "2022-01-23 02:00:00", THEN_TEXT)
    name, topic = f"{topic_prefix}mysql-time-source", f"{topic_prefix}products"
    products = jdbc_source(
        workspace,
        kafkadb,
        name,
        topic_prefix,
        mode="timestamp",
        table_whitelist=["products"],
        timestamp_column_name=["modified"],
    )
    products.apply()
    offset = {"timestamp_nanos": 0, "timestamp": THEN}
    worker.wait_offset(name, offset)
    assert ids(worker, topic, 2, "seq") == [1, 2]

    # The worker refuses to reset the offsets of a connector that is not STOPPED.
    job = build_connector_definitions(products).resolve_job_def("kafka_connect_reset_offsets")
    config = {"ops": {"kafka_connect_reset_offsets_op": {"config": {"connectors": [name]}}}}
    result = job.execute_in_process(run_config=config, instance=instance)

    (output,) = [event for event in result.all_node_events if event.event_type is DagsterEventType.STEP_OUTPUT]
    metadata: dict[str, Any] = {key: value.value for key, value in output.step_output_data.metadata.items()}
    (before,) = metadata["offsets_before"]["offsets"]
    assert before["offset"] == offset
    assert metadata["offsets_after"] == {"offsets": []}
    assert products.status().has_reached(State.RUNNING)
    assert ids(worker, topic, 4, "seq") == [1, 2, 1, 2]
    worker.wait_offset(name, offset)
    products.delete()


def columns_of(instance: DagsterInstance, key: AssetKey) -> dg.TableSchema:
    event = instance.get_latest_materialization_event(key)
    assert event is not None
    assert event.asset_materialization is not None
    columns = event.asset_materialization.metadata["dagster/column_schema"].value
    assert isinstance(columns, dg.TableSchema)
    return columns

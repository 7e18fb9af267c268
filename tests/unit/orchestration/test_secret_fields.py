"""Secrets in fields of resources: masked by GraphQL, absent from snapshots, and warned of where they are literal."""

import json
import warnings
from collections.abc import Callable
from pathlib import Path

import dagster as dg
import pytest
from dagster import DagsterInstance
from dagster._core.workspace.context import WorkspaceProcessContext
from dagster._core.workspace.load_target import PythonFileTarget
from dagster_graphql.schema import create_schema
from dagster_shared.serdes import serialize_value

from connect_dagster import (
    ConnectorResource,
    JdbcSourceResource,
    KafkaConnectWorkspace,
    KafkaPySparkResource,
    StandaloneConnectWorkerResource,
)
from connect_dagster.orchestration.secret_fields import LiteralSecretWarning, ResourceWithSecrets

CANARY = "hunter2"
JAAS = f'PlainLoginModule required username="ann" password="{CANARY}";'
URL = f"http://ann:{CANARY}@127.0.0.1:8083"
JDBC_URL = f"jdbc:mysql://db/shop?user=ann&password={CANARY}"
PLAIN = KafkaConnectWorkspace(url="http://127.0.0.1:8083")

LITERALS: dict[str, Callable[[], ResourceWithSecrets]] = {
    "url": lambda: KafkaConnectWorkspace(url=URL),
    "schema_registry_url": lambda: KafkaConnectWorkspace(schema_registry_url=URL),
    "password": lambda: KafkaConnectWorkspace(password=CANARY),
    "headers['Authorization']": lambda: KafkaConnectWorkspace(headers={"Authorization": f"Bearer {CANARY}"}),
    "client_properties['sasl.jaas.config']": lambda: KafkaConnectWorkspace(
        client_properties={"sasl.jaas.config": JAAS}
    ),
    "properties['ssl.keystore.password']": lambda: StandaloneConnectWorkerResource(
        workspace=PLAIN, properties={"ssl.keystore.password": CANARY}
    ),
    "config['connection.url']": lambda: ConnectorResource(
        workspace=PLAIN, name="shop", connector_class="JdbcSource", config={"connection.url": JDBC_URL}
    ),
    "connection_url": lambda: JdbcSourceResource(
        workspace=PLAIN, name="shop", topic_prefix="shop-", connection_url=JDBC_URL
    ),
    "consumer['sasl.jaas.config']": lambda: KafkaPySparkResource(
        bootstrap_servers="127.0.0.1:9092", consumer={"sasl.jaas.config": JAAS}
    ),
}


@pytest.mark.parametrize("field", LITERALS)
def test_r11_a_literal_secret_warns_and_its_field_is_masked(field: str) -> None:
    """Fail at ce718d3: no warning, and fields such as properties and url are not marked as secret."""
    with pytest.warns(LiteralSecretWarning) as told:
        resource = LITERALS[field]()
    (warning,) = told
    assert f"{type(resource).__name__}.{field} has a literal secret" in str(warning.message)
    assert CANARY not in str(warning.message)
    assert warning.filename == __file__
    schema = type(resource).to_config_schema().as_field().config_type
    assert schema.fields[field.partition("[")[0]].is_secret  # type: ignore[attr-defined]


def test_r11_variables_and_placeholders_are_not_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail at ce718d3: there is no such warning; runs create copies with resolved variables, which are not literal."""
    for name in ("URL", "JAAS"):
        monkeypatch.setenv(name, CANARY)
    with warnings.catch_warnings():
        warnings.simplefilter("error", LiteralSecretWarning)
        workspace = KafkaConnectWorkspace(url=dg.EnvVar("URL"), password="${file:secrets.properties:key}")
        worker = StandaloneConnectWorkerResource(workspace=PLAIN, properties={"sasl.jaas.config": dg.EnvVar("JAAS")})
        JdbcSourceResource(
            workspace=PLAIN, name="shop", topic_prefix="shop-", connection_url="jdbc:mysql://db/shop?user=ann"
        )
        with workspace.initialized() as ready:
            assert ready.url == CANARY
        assert worker.effective_properties["sasl.jaas.config"] == CANARY


def test_r11_a_url_keeps_its_table_in_the_lineage() -> None:
    with pytest.warns(LiteralSecretWarning):
        spec = JdbcSourceResource(workspace=PLAIN, name="shop", topic_prefix="shop-", connection_url=JDBC_URL).spec()
    assert spec.declared_config()["connection.url"] == JDBC_URL


PROJECT = """
import os
import dagster as dg
from connect_dagster import JdbcSourceResource, KafkaConnectWorkspace, StandaloneConnectWorkerResource
from connect_dagster import build_connector_definitions

def given(name):
    return os.environ[name] if os.environ["LITERAL"] else dg.EnvVar(name)

workspace = KafkaConnectWorkspace(url=given("URL"), client_properties={"sasl.jaas.config": given("JAAS")})
plain = KafkaConnectWorkspace(url="http://127.0.0.1:8083")
worker = StandaloneConnectWorkerResource(workspace=plain, properties={"sasl.jaas.config": given("JAAS")})
shop = JdbcSourceResource(workspace=plain, name="shop", topic_prefix="shop-", connection_url=given("JDBC_URL"))

@dg.op
def used(connect: KafkaConnectWorkspace, worker: StandaloneConnectWorkerResource, shop: JdbcSourceResource):
    pass

@dg.job
def job():
    used()

defs = dg.Definitions.merge(
    dg.Definitions(jobs=[job], resources={"connect": workspace, "worker": worker, "shop": shop}),
    build_connector_definitions(
        JdbcSourceResource(workspace=plain, name="copy", topic_prefix="shop-", connection_url=given("JDBC_URL"))
    ),
)
"""
RESOURCES = """{ repositoriesOrError { ... on RepositoryConnection { nodes {
  jobs { name } allTopLevelResourceDetails { name configuredValues { key value type }
  configFields { name isSecret defaultValueAsJson } } } } } }"""


@pytest.mark.nightly
@pytest.mark.parametrize("literal", ["", "yes"])
def test_r11_snapshots_and_graphql_have_no_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, literal: str
) -> None:
    """Fail at ce718d3: GraphQL returns properties and url in clear, as they are not marked as secret."""
    for name, value in {"URL": URL, "JAAS": JAAS, "JDBC_URL": JDBC_URL, "LITERAL": literal}.items():
        monkeypatch.setenv(name, value)
    file = tmp_path / "project.py"
    file.write_text(PROJECT)
    target = PythonFileTarget(str(file), attribute=None, working_directory=None, location_name="project")
    with DagsterInstance.local_temp() as instance, WorkspaceProcessContext(instance, target) as process:
        request = process.create_request_context()
        found = create_schema().execute(RESOURCES, context_value=request)
        (location,) = request.code_locations
        (repository,) = location.get_repositories().values()
        snapshots = [job.job_snapshot for job in repository.get_all_jobs()]
        stored = serialize_value(repository.repository_snap) + "".join(map(serialize_value, snapshots))
    assert found.errors is None
    (nodes,) = found.data["repositoriesOrError"]["nodes"]
    assert {"connect", "worker", "shop"} <= {one["name"] for one in nodes["allTopLevelResourceDetails"]}
    assert CANARY not in json.dumps(found.data)
    if not literal:
        assert CANARY not in stored

"""`connect-dagster typed-resource`: source that declares what a worker's plugin defines."""

from collections.abc import Iterator
from typing import Any

import pytest
from click.testing import CliRunner, Result

from connect_dagster.cli.main import main
from connect_dagster.herder.interface import PluginInfo
from connect_dagster.orchestration import KafkaConnectWorkspace, SourceConnectorResource
from connect_dagster.orchestration.resources.connector import secret_config_keys
from connect_dagster.plugin.config import ConfigDef, Password, Type, config_key
from connect_dagster.worker.config.source import SourceConnectorConfig
from tests.unit.orchestration.connect_server import ConnectServer, connect_server

JDBC = "io.confluent.connect.jdbc.JdbcSourceConnector"


class JdbcConfig(ConfigDef):
    """Some keys of the kinds that such a plugin has."""

    url: str = config_key("connection.url", doc='Such as "jdbc:mysql://db/shop". ' + "Word " * 40)
    password: Password | None = config_key("connection.password", default=None)
    tables: tuple[str, ...] = config_key("table.whitelist", default=("a", "b"), doc="Tables.")
    poll_ms: int = config_key("poll.interval.ms", default=5000, doc="Milliseconds.")
    quote: bool = config_key("quote.sql.identifiers", default=True)
    dialect: str | None = config_key("dialect.class", type=Type.CLASS, default=None)


@pytest.fixture(name="server")
def server_fixture(monkeypatch: pytest.MonkeyPatch) -> Iterator[ConnectServer]:
    with connect_server() as server:
        keys = [*SourceConnectorConfig.key_infos(), *JdbcConfig.key_infos()]
        monkeypatch.setattr(server.herder, "plugins", lambda **_: [PluginInfo(JDBC, "source", "10.8")])
        monkeypatch.setattr(server.herder, "plugin_config", lambda name, version=None: keys)
        yield server


def run(server: ConnectServer, plugin: str) -> Result:
    return CliRunner().invoke(main, ["typed-resource", plugin, "--url", server.workspace.url])


@pytest.mark.parametrize("name", [JDBC, "JdbcSourceConnector", "JdbcSource"])
def test_the_source_declares_what_the_plugin_defines(server: ConnectServer, name: str) -> None:
    ran = run(server, name)
    assert ran.exit_code == 0, ran.stderr
    module: dict[str, Any] = {"__name__": "printed"}
    exec(compile(ran.stdout, "printed.py", "exec"), module)
    resource = module["JdbcSourceResource"]
    own = resource.model_fields.keys() - SourceConnectorResource.model_fields.keys()
    assert {field: resource.model_fields[field].annotation for field in own} == {
        "connection_url": str,
        "connection_password": str | None,
        "table_whitelist": list[str] | None,
        "poll_interval_ms": int | None,
        "quote_sql_identifiers": bool | None,
        "dialect_class": str | None,
    }
    assert resource.model_fields["connection_url"].description == JdbcConfig.model_fields["url"].description
    assert resource.model_fields["table_whitelist"].description == "Tables. Default: a,b."
    assert resource.model_fields["poll_interval_ms"].description == "Milliseconds. Default: 5000."
    assert secret_config_keys(resource) == {"connection.password"}
    declared = resource(
        workspace=KafkaConnectWorkspace(), name="shop", connection_url="jdbc:h2:mem", tasks_max=2
    ).spec()
    assert declared.declared_config() == {
        "name": "shop",
        "connector.class": JDBC,
        "tasks.max": "2",
        "connection.url": "jdbc:h2:mem",
    }
    assert max(map(len, ran.stdout.splitlines())) <= 120


def test_a_plugin_the_worker_lacks_is_one_sentence(server: ConnectServer) -> None:
    ran = run(server, "S3Sink")
    assert (ran.exit_code, ran.stderr) == (
        2,
        f"Error: The worker at {server.workspace.url} has no connector plugin S3Sink; it has {JDBC}\n",
    )

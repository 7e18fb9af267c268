"""A password in every place that can hold one, and all places where a worker could show it.

What is shown by design stands in `SHOWN`, with its reason. Each entry must be found: one that is not is out of date.
"""

from __future__ import annotations

import base64
import json
import os
import runpy
import sqlite3
import uuid
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from dagster import DagsterInstance
from dagster._core.workspace.context import WorkspaceProcessContext
from dagster._core.workspace.load_target import PythonFileTarget
from dagster_graphql.schema import create_schema
from dagster_shared.serdes import serialize_value

from connect_dagster.embedded.broker import EmbeddedBroker
from connect_dagster.embedded.ports import HOST, free_port
from connect_dagster.rest.basic_auth import EXTENSION
from tests.canaries import Canaries, contents_of, get_targets
from tests.databases import Database, MariaDB
from tests.distributed_process import DistributedProcess, group_properties
from tests.integration.topics import read_topic, size
from tests.key_tool import make_key, trust
from tests.rest_calls import Answer

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(900)]

PLUGINS = Path(__file__).with_name("canary_plugins")
USER = "ann"
JAAS = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="{}" password="{}";'
CLIENTS = ("worker", "producer", "consumer", "admin", "override")
SECONDS = 240

LITERALS = {"connection.password", "connection.url", "producer.override.sasl.jaas.config", "api.hash"}
WRITTEN = "as in Java: a configuration is shown as it was written, so secrets belong into config providers"
TOPIC = "a secret as the name of a topic: Kafka shows topics to every client"
SHOWN: dict[str, tuple[set[str], str]] = {
    "replies about configurations": (LITERALS, WRITTEN),
    "config topic": (LITERALS, WRITTEN),
    "other replies": ({"secret misplaced"}, TOPIC),
    "status topic": ({"secret misplaced"}, TOPIC),
    "validation": ({"connection.url"}, "as in Java: a key of type STRING, shown to its sender"),
    "environment": (
        {"environment variable"},
        "the user has set the variable; the JVM inherits it, as Java's would have",
    ),
}
CONFIGURATIONS = ("/connectors/{}", "/connectors/{}/config", "/connectors/{}/tasks")


@dataclass(frozen=True, slots=True)
class Place:
    """What all canaries of the test need.

    Attributes:
        canary: makes them.
        folder: for files.
        broker: wants a login and certificates.
        database: of user `ann`, whose password is a canary, as is that of `url`, `dir` and `literal`.
    """

    canary: Canaries
    folder: Path
    broker: EmbeddedBroker
    database: Database

    def jaas(self, user: str, place: str) -> str:
        return JAAS.format(user, self.canary(place))

    def secret(self, key: str) -> str:
        """Placeholder of a key in the file of secrets."""
        return f"${{file:{self.folder}/secrets.properties:{key}}}"


class LockedWorker(DistributedProcess):
    """A worker that wants a user's name and password."""

    authorization = ""

    def call(
        self, method: str, target: str, body: bytes | Any = None, headers: Mapping[str, str] | None = None
    ) -> Answer:
        return super().call(method, target, body, {"Authorization": self.authorization, **(headers or {})})


@pytest.fixture(scope="module")
def place(mariadb: MariaDB, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    canary, folder = Canaries(), tmp_path_factory.mktemp("canary")
    stores = canary("ssl.keystore.password")
    for name in ("broker", "client"):
        make_key(folder, name, stores)
    trust(folder, "broker", "client-trust.p12", "PKCS12", stores)
    trust(folder, "client", "broker-trust.jks", "JKS", stores)
    users = " ".join(f'user_{name}="{canary(_jaas_key(name))}"' for name in CLIENTS)
    settings = {
        "sasl.enabled.mechanisms": "PLAIN",
        "plain.sasl.jaas.config": f"org.apache.kafka.common.security.plain.PlainLoginModule required {users};",
        "ssl.keystore.location": str(folder / "broker.jks"),
        "ssl.keystore.password": stores,
        "ssl.truststore.location": str(folder / "broker-trust.jks"),
        "ssl.truststore.password": stores,
        "ssl.client.auth": "required",
    }
    safe = {f"listener.name.safe.{name}": value for name, value in settings.items()}
    database = mariadb.new_database()
    for user in ("literal", "url", "file", "folder"):
        password = canary({"literal": "connection.password", "url": "connection.url"}.get(user, f"secret {user}"))
        database.execute(f"CREATE USER 'canary_{user}'@'%' IDENTIFIED BY '{password}'")
        database.execute(f"GRANT ALL ON `{database.name}`.* TO 'canary_{user}'@'%'")
    database.execute("CREATE TABLE orders (id INT PRIMARY KEY, name VARCHAR(20))", "INSERT INTO orders VALUES (1, 'a')")
    listeners = {"SAFE": "SASL_SSL"}
    try:
        with EmbeddedBroker(folder / "broker", 0, heap="512m", settings=safe, listeners=listeners) as broker:
            yield Place(canary, folder, broker, database)
    finally:
        for user in ("literal", "url", "file", "folder"):
            database.execute(f"DROP USER 'canary_{user}'@'%'")


def _jaas_key(client: str) -> str:
    """The setting that has the login of a client."""
    key = {"worker": "", "override": "producer.override."}.get(client, f"{client}.")
    return f"{key}sasl.jaas.config"


def worker_properties(place: Place) -> dict[str, str]:
    canary, folder = place.canary, place.folder
    client = {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "ssl.keystore.location": str(folder / "client.jks"),
        "ssl.keystore.password": canary("ssl.keystore.password"),
        "ssl.key.password": place.secret("store"),
        "ssl.truststore.location": str(folder / "client-trust.p12"),
        "ssl.truststore.password": f"${{dir:{folder}/mounted:store}}",
    }
    prefixes = {"worker": "", "producer": "producer.", "consumer": "consumer.", "admin": "admin."}
    clients = {
        f"{prefix}{key}": value
        for name, prefix in prefixes.items()
        for key, value in {**client, "sasl.jaas.config": place.jaas(name, _jaas_key(name))}.items()
    }
    return {
        **group_properties(place.broker.bootstrap_servers_of("SAFE"), f"canary-{uuid.uuid4().hex[:8]}-"),
        **clients,
        "listeners": f"http://{HOST}:{free_port()},https://{HOST}:{free_port()}",
        "listeners.https.ssl.keystore.location": str(folder / "client.jks"),
        "listeners.https.ssl.keystore.password": canary("ssl.keystore.password"),
        "rest.extension.classes": EXTENSION,
        "config.providers": "file,dir,env",
        "config.providers.file.class": "FileConfigProvider",
        "config.providers.dir.class": "DirectoryConfigProvider",
        "config.providers.env.class": "EnvVarConfigProvider",
        "plugin.path": str(PLUGINS),
        "spark.hadoop.fs.s3a.secret.key": canary("spark.hadoop.fs.s3a.secret.key"),
    }


def connectors(place: Place) -> dict[str, dict[str, str]]:
    """Connectors that run with passwords, and such that fail because of them."""
    canary, url = place.canary, place.database.jdbc_url
    table = {"connector.class": "JdbcSource", "mode": "bulk", "table.whitelist": "orders", "poll.interval.ms": "60000"}
    override = {
        "producer.override.sasl.jaas.config": place.jaas("override", "producer.override.sasl.jaas.config"),
    }
    with_url = f"{url}?user=canary_url&password={canary('connection.url')}"
    file, folder = place.secret("file"), f"${{dir:{place.folder}/mounted:folder}}"

    def login(user: str, password: str) -> dict[str, str]:
        return {"connection.url": url, "connection.user": f"canary_{user}", "connection.password": password}

    def jdbc(prefix: str, **more: str) -> dict[str, str]:
        return {**table, "topic.prefix": f"{prefix}-", **more}

    lines = {"connector.class": "FileStreamSource", "file": str(place.folder / "lines.txt"), "topic": "lines"}
    sink = {"connector.class": "JdbcSink", "topics": "file-orders", "auto.create": "true", "table.name.format": "copy"}
    return {
        "lines": {**lines, **override},
        "literal": jdbc("literal", **login("literal", canary("connection.password"))),
        "url": jdbc("url", **{"connection.url": with_url}),
        "file": jdbc("file", **login("file", file)),
        "folder": jdbc("folder", **login("folder", folder)),
        "sink": {**sink, **login("file", file)},
        "quotes-literal": {"connector.class": "QuotingConnector", "api.hash": canary("api.hash")},
        "quotes-file": {"connector.class": "QuotingConnector", "api.hash": place.secret("hash")},
        "quotes-variable": {"connector.class": "QuotingConnector", "api.hash": "${env:CANARY_OF_A_TEST}"},
        "wrong": jdbc("wrong", **login("file", place.secret("wrong"))),
        "misplaced": {**lines, "topic": place.secret("misplaced"), "errors.tolerance": "none"},
    }


RUNNING = ("RUNNING", "RUNNING")
STATES = {
    **dict.fromkeys(("quotes-literal", "quotes-file", "quotes-variable"), ("RUNNING", "FAILED")),
    "wrong": ("FAILED",),
}


def write_secrets(place: Place) -> None:
    canary, folder = place.canary, place.folder
    keys = {name: canary(f"secret {name}") for name in ("file", "hash", "wrong", "misplaced")}
    lines = (f"{name}={value}\n" for name, value in {**keys, "store": canary("ssl.keystore.password")}.items())
    (folder / "secrets.properties").write_text("".join(lines))
    (folder / "mounted").mkdir()
    (folder / "mounted" / "folder").write_text(canary("secret folder"))
    (folder / "mounted" / "store").write_text(canary("ssl.keystore.password"))
    (folder / "users.properties").write_text(f"{USER}={canary('basic authentication')}\n")
    module = "org.apache.kafka.connect.rest.basic.auth.extension.PropertyFileLoginModule"
    (folder / "jaas.conf").write_text(f'KafkaConnect {{ {module} required file="{folder}/users.properties"; }};')
    (folder / "lines.txt").write_text("one line\n")
    (folder / "tmp").mkdir()


@pytest.fixture(scope="module")
def worker(place: Place) -> Iterator[LockedWorker]:
    write_secrets(place)
    user = f"{USER}:{place.canary('basic authentication')}"
    with ExitStack() as running:
        environment = running.enter_context(pytest.MonkeyPatch.context())
        environment.setenv("KAFKA_OPTS", f"-Djava.security.auth.login.config={place.folder}/jaas.conf")
        environment.setenv("CANARY_OF_A_TEST", place.canary("environment variable"))
        environment.setenv("TMPDIR", str(place.folder / "tmp"))
        made = LockedWorker(worker_properties(place), place.folder / "worker")
        made.authorization = f"Basic {base64.b64encode(user.encode()).decode()}"
        process = running.enter_context(made)
        assert process.call("PUT", "/admin/loggers/root", {"level": "DEBUG"}).status == 200
        for name, config in connectors(place).items():
            if name == "sink":  # which would find the topic with its next look at the brokers' metadata
                process.wait_until(partial(_has_records, place, config["topics"]), "write the topic", SECONDS)
            answer = process.call("PUT", f"/connectors/{name}/config", config)
            assert answer.status == 201, answer.body
        for name in connectors(place):
            process.wait_states(name, *STATES.get(name, RUNNING), timeout=SECONDS)
        process.wait_until(lambda: place.database.query("SHOW TABLES LIKE 'copy'") != [], "write the table", SECONDS)
        yield process


def _has_records(place: Place, topic: str) -> bool:
    return size(place.broker.bootstrap_servers, topic) > 0


def test_a_canary_is_found_where_it_is_shown_by_design_and_nowhere_else(place: Place, worker: LockedWorker) -> None:
    found = {name: place.canary.found_in(*look(place, worker)) for name, look in LOOKS.items()}
    assert {name: places for name, places in found.items() if places} == {
        name: places for name, (places, _) in SHOWN.items()
    }


# Where to look


def _names(place: Place, worker: LockedWorker) -> dict[str, list[str]]:
    plugins = [one["class"] for one in worker.call("GET", "/connector-plugins?connectorsOnly=false").json]
    return {
        "connector": list(connectors(place)),
        "task": ["0"],
        "plugin": plugins,
        "logger": list(worker.call("GET", "/admin/loggers").json),
    }


def _about_configurations(place: Place, worker: LockedWorker) -> list[bytes]:
    targets = [one.format(name) for name in connectors(place) for one in CONFIGURATIONS]
    return [worker.call("GET", target).body for target in (*targets, "/connectors?expand=info&expand=status")]


def _other_replies(place: Place, worker: LockedWorker) -> list[bytes]:
    targets = get_targets(worker.call("GET", "/openapi.json").json, _names(place, worker))
    others = set(targets) - {one.format(name) for name in connectors(place) for one in CONFIGURATIONS}
    assert {"/metrics", "/dagster/progress", "/connectors/file/status", "/admin/loggers"} <= others
    return [worker.call("GET", target).body for target in (*sorted(others), "/connectors?expand=status", "/no/such")]


def _validation(place: Place, worker: LockedWorker) -> list[bytes]:
    def validated(name: str, config: Mapping[str, str]) -> bytes:
        plugin = f"{config['connector.class'].removesuffix('Connector')}Connector"
        answer = worker.call("PUT", f"/connector-plugins/{plugin}/config/validate", {**config, "name": name})
        assert answer.status == 200, answer.body
        return answer.body

    return [validated(name, config) for name, config in connectors(place).items()]


def _refusals(place: Place, worker: LockedWorker) -> list[bytes]:
    offsets = {"offsets": [{"partition": {"a": 1}, "offset": {"b": 2}}]}
    bodies = []
    for name in ("quotes-literal", "quotes-file"):
        assert worker.call("PUT", f"/connectors/{name}/stop").status == 204
        worker.wait_states(name, "STOPPED")
        answer = worker.call("PATCH", f"/connectors/{name}/offsets", offsets)
        assert (answer.status, "the server refuses" in answer.message) == (500, True)
        bodies.append(answer.body)
    config = connectors(place)["file"]
    for key in ("tasks.max", "connector.class", "transforms", "value.converter", "poll.interval.ms"):
        answer = worker.call("PUT", "/connectors/refused/config", {**config, key: place.secret("misplaced")})
        assert answer.status == 400, answer.body
        bodies.append(answer.body)
    bodies.append(worker.call("GET", "/connectors", headers={"Authorization": "Basic x"}).body)
    return bodies


def _topic(kind: str) -> Callable[[Place, LockedWorker], list[bytes]]:
    def records(place: Place, worker: LockedWorker) -> list[bytes]:
        plain, topic = place.broker.bootstrap_servers, worker.props[f"{kind}.storage.topic"]
        found = read_topic(plain, topic, size(plain, topic))
        assert found or kind == "offset"
        return [(one.key() or b"") + (one.value() or b"") for one in found]

    return records


def _log(place: Place, worker: LockedWorker) -> list[bytes]:
    log = worker.log_file.read_bytes()
    assert b"] DEBUG " in log
    assert b"the server refuses [hidden]" in log
    return [log]


def _processes(worker: LockedWorker) -> list[int]:
    """The worker and all its descendants."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
    found = [worker.pid]
    for pid in found:
        found += [child for child, parent in parents.items() if parent == pid]
    assert any(b"java" in Path(f"/proc/{pid}/cmdline").read_bytes() for pid in found)
    return found


def _command_lines(place: Place, worker: LockedWorker) -> list[bytes]:
    return [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in _processes(worker)]


def _environment(place: Place, worker: LockedWorker) -> list[bytes]:
    return [Path(f"/proc/{pid}/environ").read_bytes() for pid in _processes(worker)]


def _temporary_files(place: Place, worker: LockedWorker) -> list[bytes]:
    memory = list(Path("/dev/shm").glob(f"connect-dagster-scratch-{worker.pid}-*"))
    assert memory or not os.access("/dev/shm", os.W_OK)
    return contents_of(place.folder / "tmp", *memory)


LOOKS: dict[str, Callable[[Place, LockedWorker], list[bytes]]] = {
    "replies about configurations": _about_configurations,
    "other replies": _other_replies,
    "validation": _validation,
    "refusals": _refusals,
    "config topic": _topic("config"),
    "status topic": _topic("status"),
    "offset topic": _topic("offset"),
    "command lines": _command_lines,
    "environment": _environment,
    "temporary files": _temporary_files,
    "log": _log,
}


# Dagster

PROJECT = """
import os
import dagster as dg
from connect_dagster import (
    JdbcSourceResource,
    KafkaConnectWorkspace,
    KafkaPySparkResource,
    StandaloneConnectWorkerResource,
    build_connector_definitions,
)

workspace = KafkaConnectWorkspace(
    url=os.environ["CANARY_REST_URL"],
    username="ann",
    password=dg.EnvVar("CANARY_PASSWORD"),
    bootstrap_servers=os.environ["CANARY_SERVERS"],
    client_properties={"sasl.jaas.config": dg.EnvVar("CANARY_JAAS")},
    poll_timeout=30.0,
)
worker = StandaloneConnectWorkerResource(
    workspace=workspace,
    properties={"sasl.jaas.config": dg.EnvVar("CANARY_JAAS"), "ssl.keystore.password": "${file:/secrets:store}"},
)
spark = KafkaPySparkResource(
    bootstrap_servers=os.environ["CANARY_SERVERS"], consumer={"sasl.jaas.config": dg.EnvVar("CANARY_JAAS")}
)


def jdbc(name, **more):
    return JdbcSourceResource(
        workspace=workspace, name=name, topic_prefix=name, mode="bulk", table_whitelist=["orders"], **more
    )


plain = os.environ["CANARY_JDBC"]
literal = dg.EnvVar("CANARY_LITERAL")
connectors = [
    jdbc("dagster-url", connection_url=dg.EnvVar("CANARY_JDBC_URL")),
    jdbc("dagster-password", connection_url=plain, connection_user="canary_literal", connection_password=literal),
    jdbc("dagster-wrong", connection_url=plain, connection_user="canary_file", connection_password=literal),
]


@dg.op
def careless(worker: StandaloneConnectWorkerResource, spark: KafkaPySparkResource) -> None:
    raise dg.Failure("this run fails")


@dg.job
def careless_job():
    careless()


defs = dg.Definitions.merge(
    build_connector_definitions(*connectors),
    dg.Definitions(
        jobs=[careless_job, dg.define_asset_job("everything", selection="*")],
        resources={"worker": worker, "spark": spark},
    ),
)
"""
JOBS = ("kafka_connect_apply", "everything", "kafka_connect_restart", "kafka_connect_stop", "careless_job")
_ENTRY = """fragment Entry on MetadataEntry { label description
  ... on TextMetadataEntry { text } ... on MarkdownMetadataEntry { mdStr } ... on JsonMetadataEntry { jsonString }
  ... on UrlMetadataEntry { url } }"""
QUERIES = (
    """{ repositoriesOrError { ... on RepositoryConnection { nodes {
      jobs { name description } allTopLevelResourceDetails { name configuredValues { key value type }
      configFields { name isSecret defaultValueAsJson } } } } } }""",
    "{ assetNodes { assetKey { path } description metadataEntries { ...Entry } } }" + _ENTRY,
    """{ runsOrError { ... on Runs { results { runId status runConfigYaml tags { key value }
      eventConnection { events { __typename ... on MessageEvent { message }
        ... on DisplayableEvent { label description metadataEntries { ...Entry } }
        ... on ExecutionStepFailureEvent { error { message stack causes { message stack } } } } } } } } }"""
    + _ENTRY,
)


def test_dagster_keeps_and_shows_no_canary(
    place: Place, worker: LockedWorker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    user, url = "canary_url", place.database.jdbc_url
    variables = {
        "REST_URL": worker.rest_url,
        "PASSWORD": place.canary("basic authentication"),
        "SERVERS": place.broker.bootstrap_servers,
        "JAAS": place.jaas("worker", "sasl.jaas.config"),
        "JDBC": url,
        "JDBC_URL": f"{url}?user={user}&password={place.canary('connection.url')}",
        "LITERAL": place.canary("connection.password"),
    }
    for name, value in variables.items():
        monkeypatch.setenv(f"CANARY_{name}", value)
    file, home = tmp_path / "project.py", tmp_path / "dagster"
    file.write_text(PROJECT)
    home.mkdir()
    target = PythonFileTarget(str(file), attribute=None, working_directory=None, location_name="project")
    with DagsterInstance.local_temp(str(home)) as instance:
        for name in JOBS:
            job = runpy.run_path(str(file))["defs"].resolve_job_def(name)
            job.execute_in_process(instance=instance, raise_on_error=False)
        with WorkspaceProcessContext(instance, target) as process:
            request = process.create_request_context()
            (location,) = request.code_locations
            (repository,) = location.get_repositories().values()
            stored = [serialize_value(repository.repository_snap)]
            stored += [serialize_value(job.job_snapshot) for job in repository.get_all_jobs()]
            replies = [create_schema().execute(query, context_value=request) for query in QUERIES]
        files = list(_decompressed(home))
    assert [reply.errors for reply in replies] == [None] * len(QUERIES)
    runs = replies[-1].data["runsOrError"]["results"]
    assert len(runs) == len(JOBS)
    assert "Access denied for user 'canary_file'" in json.dumps(runs)
    assert any(b"kafka_connect_apply" in content for content in files)
    shown = json.dumps([reply.data for reply in replies])
    assert place.canary.found_in(shown) == place.canary.found_in(*stored) == place.canary.found_in(*files) == set()


def _decompressed(folder: Path) -> Iterator[bytes]:
    """Contents of all files, and of the values in databases, which Dagster compresses."""
    for database in folder.rglob("*.db"):
        with closing(sqlite3.connect(database)) as connection:
            tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
            values = (
                value for (name,) in tables for row in connection.execute(f'SELECT * FROM "{name}"') for value in row
            )
            for value in values:
                yield _plain(value) if isinstance(value, bytes) else str(value).encode()
    yield from contents_of(folder)


def _plain(value: bytes) -> bytes:
    try:
        return zlib.decompress(value)
    except zlib.error:
        return value

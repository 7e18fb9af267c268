"""No reply, no status and no line of the log has a password, but for those that Kafka Connect shows by design.

`tests/integration/worker/test_canary.py` looks at a whole worker.
"""

from __future__ import annotations

import io
import logging
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import cast

import pytest

from connect_dagster.errors import ConnectError
from connect_dagster.herder.connector_offsets import OffsetEditor
from connect_dagster.herder.interface import ServerInfo
from connect_dagster.herder.standalone.herder import StandaloneHerder
from connect_dagster.herder.validation.validator import Validator
from connect_dagster.isolation.config_transformer import ConfigTransformer
from connect_dagster.isolation.plugins import Plugins
from connect_dagster.protocol.states import State, TargetState, TaskId
from connect_dagster.rest.app import create_app
from connect_dagster.storage.offset_store import OffsetStore
from connect_dagster.worker.config.worker import StandaloneConfig
from connect_dagster.worker.logs import output
from connect_dagster.worker.logs.formats import TextFormatter
from connect_dagster.worker.source.opening import ExactlyOnceStart
from connect_dagster.worker.task_builder import TaskListeners
from connect_dagster.worker.worker_connector import Listener
from tests.canaries import Canaries, get_targets
from tests.integration.worker_process import COMMON_DEFAULTS
from tests.unit.herder.memory_worker import MemoryWorker
from tests.unit.rest.asking import Asking

BY_DESIGN = "as in Java: a configuration is shown as it was written, so secrets belong into config providers"
WRITTEN = {"connection.url", "connection.password", "producer.override.sasl.jaas.config"}
# What each reply shows, with the reason; anything else is a leak.
SHOWN: dict[str, tuple[set[str], str]] = {
    "/connectors/literal": (WRITTEN, BY_DESIGN),
    "/connectors/literal/config": (WRITTEN, BY_DESIGN),
    "/connectors/literal/tasks": (WRITTEN, BY_DESIGN),
    "/connectors?expand=info&expand=status": (WRITTEN, BY_DESIGN),
    "validate literal": ({"connection.url"}, "as in Java: a STRING, as the request has it"),
    "refusal literal": ({"connection.password"}, "as in Java: the request has it in tasks.max, which is no password"),
}


class QuotingWorker(MemoryWorker):
    """Connectors run, and tasks fail with a text that quotes all that they are told, on their log too."""

    def start_connector(
        self,
        name: str,
        config: Mapping[str, str],
        target: TargetState,
        listener: Listener,
        reconfigure: Callable[[], None],
    ) -> Future[State]:
        told = self._transformer.transform(config).config
        logging.getLogger("some.library").debug("connects with %s", told)
        return super().start_connector(name, config, target, listener, reconfigure)

    def start_task(
        self,
        id: TaskId,
        connector_config: Mapping[str, str],
        config: Mapping[str, str],
        target: TargetState,
        listeners: TaskListeners,
        exactly_once: ExactlyOnceStart | None = None,
        *,
        tasks: int = 1,
    ) -> None:
        told = self._transformer.transform(connector_config).config
        raise ConnectError(f"refused: {told}") from ValueError(*told.values())


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], str]]:
    """What a worker logs at DEBUG."""
    text = io.StringIO()
    monkeypatch.setattr(sys, "stdout", text)
    monkeypatch.setattr(TextFormatter, "hidden", TextFormatter.hidden)
    root, hook = logging.getLogger(), threading.excepthook
    handlers, level = root.handlers[:], root.level
    output.configure()
    root.setLevel(logging.DEBUG)
    yield text.getvalue
    root.handlers[:], threading.excepthook = handlers, hook
    root.setLevel(level)
    logging.captureWarnings(False)


def configs(canary: Canaries, secrets: Path) -> dict[str, dict[str, str]]:
    """One configuration with passwords, and one with placeholders for them, also where no password belongs."""
    own = {"connector.class": "JdbcSource", "mode": "bulk", "topic.prefix": "t-"}
    jaas = 'PlainLoginModule required username="ann" password="{}";'
    literal = {
        "connection.url": f"jdbc:mysql://127.0.0.1:1/d?user=ann&password={canary('connection.url')}",
        "connection.password": canary("connection.password"),
        "producer.override.sasl.jaas.config": jaas.format(canary("producer.override.sasl.jaas.config")),
    }
    by_key = {name: f"${{file:{secrets}:{name}}}" for name in ("url", "password", "jaas", "prefix")}
    secrets.write_text("".join(f"{name}={canary(f'file {name}')}\n" for name in by_key))
    placeholders = {
        "connection.url": f"jdbc:mysql://127.0.0.1:1/d?user=ann&password={by_key['url']}",
        "connection.password": by_key["password"],
        "producer.override.sasl.jaas.config": jaas.format(by_key["jaas"]),
        "topic.prefix": by_key["prefix"],
    }
    return {"literal": {**own, **literal}, "placeholders": {**own, **placeholders}}


def test_replies_and_log(tmp_path: Path, log: Callable[[], str]) -> None:
    canary = Canaries()
    worker_props = COMMON_DEFAULTS | {
        "bootstrap.servers": "127.0.0.1:1",
        "offset.storage.file.filename": "/never",
        "config.providers": "file",
        "config.providers.file.class": "FileConfigProvider",
        "producer.sasl.jaas.config": canary("producer.sasl.jaas.config"),
        "ssl.keystore.password": canary("ssl.keystore.password"),
    }
    plugins = Plugins()
    transformer = ConfigTransformer.of(worker_props, plugins)
    output.hide(transformer.hidden)
    config = StandaloneConfig.parse(transformer.transform(worker_props).config, plugins.find_class)
    logging.getLogger("some.library").debug("read %s", worker_props)
    offsets = cast("OffsetStore", None)
    connectors = configs(canary, tmp_path / "secrets.properties")
    worker = QuotingWorker("w:8083", config, plugins, offsets, {name: [one] for name, one in connectors.items()})
    worker._transformer = transformer
    editor = OffsetEditor(plugins, offsets, lambda config: {}, 1, transformer)
    herder = StandaloneHerder(worker, Validator(plugins, config, None, transformer), editor, ServerInfo("1", "2", "3"))
    herder.start()
    ask = Asking(create_app(herder))

    shown: dict[str, set[str]] = {}
    for name, connector in connectors.items():
        created = ask("PUT", f"/connectors/{name}/config", connector)
        assert created.status == 201, created.body
        validated = ask("PUT", "/connector-plugins/JdbcSourceConnector/config/validate", {**connector, "name": name})
        shown[f"validate {name}"] = canary.found_in(validated.body)
        refused = ask("PUT", f"/connectors/{name}/config", {**connector, "tasks.max": connector["connection.password"]})
        assert refused.status == 400
        shown[f"refusal {name}"] = canary.found_in(refused.body)
        assert "refused: " in ask("GET", f"/connectors/{name}/status").json["tasks"][0]["trace"]
    names = {
        "connector": ["literal", "placeholders"],
        "task": ["0"],
        "plugin": ["JdbcSourceConnector"],
        "logger": ["root"],
    }
    targets = get_targets(ask("GET", "/openapi.json").json, names)
    for target in [*targets, "/connectors?expand=info&expand=status"]:
        shown[target] = canary.found_in(ask("GET", target).body)
    shown["log"] = canary.found_in(log())

    assert {name: places for name, places in shown.items() if places} == {
        name: places for name, (places, _) in SHOWN.items()
    }
    assert "read {'key.converter'" in log()

"""Converters, transforms and predicates of a task, and which metrics they get."""

from __future__ import annotations

from pathlib import Path

from connect_dagster.isolation.plugins import Plugins
from connect_dagster.plugin.metrics import Metrics
from connect_dagster.testing.contexts import CollectedMetrics
from connect_dagster.worker.config.connector import ConnectorConfig
from connect_dagster.worker.config.worker import WorkerConfig
from connect_dagster.worker.record_plugins import RecordPluginFactory, RecordPlugins

MODULE = """
from connect_dagster.converters.plain.string_converter import StringConverter
from connect_dagster.plugin import Monitorable
from connect_dagster.predicates.record_is_tombstone import RecordIsTombstone
from connect_dagster.transforms.filter import Filter


class Watched(Monitorable):
    java_class = None
    metrics = None

    def with_plugin_metrics(self, metrics):
        assert self.metrics is None, "once"
        self.metrics = metrics


class WatchedText(Watched, StringConverter):
    def configure(self, config, *, is_key):
        super().configure(config, is_key=is_key)
        self.configured = True

    def with_plugin_metrics(self, metrics):
        super().with_plugin_metrics(metrics)
        assert self.configured


class WatchedFilter(Watched, Filter):
    pass


class WatchedTombstone(Watched, RecordIsTombstone):
    closed = 0

    def close(self):
        self.closed += 1
"""
STRING = "org.apache.kafka.connect.storage.StringConverter"
CONNECTOR = {
    "name": "c",
    "connector.class": "C",
    "value.converter": "WatchedText",
    "header.converter": "WatchedText",
    "transforms": "a,b,plain",
    "transforms.a.type": "WatchedFilter",
    "transforms.a.predicate": "p",
    "transforms.b.type": "WatchedFilter",
    "transforms.b.predicate": "p",
    "transforms.plain.type": "org.apache.kafka.connect.transforms.Filter",
    "predicates": "p",
    "predicates.p.type": "WatchedTombstone",
}


def plugins_of(folder: Path) -> RecordPlugins:
    (folder / "watched.py").write_text(MODULE)
    worker = WorkerConfig.parse({"bootstrap.servers": "a:1", "key.converter": STRING, "value.converter": STRING})
    return RecordPluginFactory(Plugins([str(folder)]), worker).make("c-0", ConnectorConfig.parse(CONNECTOR))


def test_plugins_with_metrics_get_those_of_their_tag(tmp_path: Path) -> None:
    given: dict[tuple[str, str], Metrics] = {}

    def metrics_of(tag: str, value: str) -> Metrics:
        return given.setdefault((tag, value), CollectedMetrics())

    plugins = plugins_of(tmp_path)
    plugins.add_metrics(metrics_of)
    assert list(given) == [
        ("converter", "value"),
        ("converter", "header"),
        ("transformation", "a"),
        ("transformation", "b"),
        ("predicate", "p"),
    ]
    assert plugins.value.metrics is given["converter", "value"]  # type: ignore[attr-defined]
    assert plugins.chain[1].transform.metrics is given["transformation", "b"]  # type: ignore[attr-defined]


def test_a_predicate_is_made_and_closed_once(tmp_path: Path) -> None:
    plugins = plugins_of(tmp_path)
    first, second, plain = plugins.chain
    assert first.predicate is second.predicate is plugins.predicates["p"]
    assert plain.predicate is None
    plugins.close()
    assert first.predicate.closed == 1  # type: ignore[attr-defined]

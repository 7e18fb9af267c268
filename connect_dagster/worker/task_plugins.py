"""Names the plugins of a task, as its metrics show them (Java: ``TaskPluginsMetadata``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from connect_dagster.isolation.plugins import Plugins, class_name
from connect_dagster.isolation.realm import class_path
from connect_dagster.plugin.connector import SinkTask, SourceTask
from connect_dagster.plugin.converter import Converter
from connect_dagster.worker.metrics.tasks import TaskPlugins, Transformed
from connect_dagster.worker.transforms import Step


def task_plugins(
    plugins: Plugins,
    config: Mapping[str, str],
    task: SourceTask | SinkTask,
    key: Converter,
    value: Converter,
    chain: Sequence[Step],
) -> TaskPlugins:
    """Classes and versions by Kafka's names.

    Args:
        plugins: where the connector's class is found.
        config: the connector's configuration.
        task: the plugin's task.
        key: converter of keys.
        value: converter of values.
        chain: the transforms, in the order of their aliases.
    """
    connector = plugins.connector(config["connector.class"], config.get("connector.plugin.version"))
    texts = {
        "connector-class": connector.class_name,
        "connector-type": connector.kind.value,
        "connector-version": connector.version,
        "task-class": connector.plugin.java_task_class or class_path(type(task)),
        "task-version": connector.version,
        "key-converter-class": class_name(type(key)),
        "key-converter-version": key.version,
        "value-converter-class": class_name(type(value)),
        "value-converter-version": value.version,
    }
    return TaskPlugins(
        texts, tuple(Transformed(one.alias, class_name(type(one.transform)), one.transform.version) for one in chain)
    )

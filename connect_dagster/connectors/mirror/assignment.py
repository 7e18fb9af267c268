"""Work of the tasks of a flow, and the keys that hand it to them. Pure.

Java: ``MirrorSourceTaskConfig``, ``MirrorCheckpointTaskConfig``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from connect_dagster.errors import ConfigError
from connect_dagster.plugin.config import ConfigDef, Type, UniqueValues, config_key, parse_value
from connect_dagster.plugin.records import TopicPartition

TASK_INDEX = "task.index"
TASK_PARTITIONS = "task.assigned.partitions"
TASK_GROUPS = "task.assigned.groups"


class PartitionsTaskConfig(ConfigDef):
    """Keys of a task of the source connector."""

    partitions: tuple[str, ...] = config_key(TASK_PARTITIONS, validator=UniqueValues(empty=False))


class GroupsTaskConfig(ConfigDef):
    """Keys of a task of the checkpoint connector."""

    groups: tuple[str, ...] = config_key(TASK_GROUPS, validator=UniqueValues(empty=False))


def spread_partitions(partitions: Sequence[TopicPartition], max_tasks: int) -> list[list[TopicPartition]]:
    """Return the partitions of each task: each in turn, so that the partitions of a topic are on many tasks."""
    tasks = min(max_tasks, len(partitions))
    return [list(partitions[task::tasks]) for task in range(tasks)]


def spread_groups(groups: Sequence[str], max_tasks: int) -> list[list[str]]:
    """Return the groups of each task: runs, of which the first are longer by one (Java: ``groupPartitions``)."""
    tasks = min(max_tasks, len(groups))
    length, longer = divmod(len(groups), tasks) if tasks else (0, 0)
    starts = [task * length + min(task, longer) for task in range(tasks + 1)]
    return [list(groups[start:end]) for start, end in pairwise(starts)]


def partition_task_configs(
    config: Mapping[str, str], partitions: Sequence[TopicPartition], max_tasks: int
) -> list[dict[str, str]]:
    """Return the configuration of each task of the source connector."""
    return _task_configs(config, TASK_PARTITIONS, spread_partitions(partitions, max_tasks))


def group_task_configs(config: Mapping[str, str], groups: Sequence[str], max_tasks: int) -> list[dict[str, str]]:
    """Return the configuration of each task of the checkpoint connector.

    Args:
        config: of the connector.
        groups: ids that :func:`is_assignable` accepts.
        max_tasks: ``tasks.max``.
    """
    return _task_configs(config, TASK_GROUPS, spread_groups(groups, max_tasks))


def is_assignable(group: str) -> bool:
    """Return whether a list of Kafka can hold a group's id.

    It cannot hold commas, blanks at an end, and nothing. Java assigns such groups all the same: its task then asks for
    others, or fails.
    """
    return bool(parse_value(TASK_GROUPS, group, Type.LIST) == (group,))


def assigned_partitions(config: Mapping[str, str]) -> tuple[TopicPartition, ...]:
    """Return the partitions of a task.

    Raises:
        ConfigError: there are none, or one is not a topic, a hyphen and a number.
    """
    return tuple(map(_topic_partition, PartitionsTaskConfig.parse(config).partitions))


def assigned_groups(config: Mapping[str, str]) -> tuple[str, ...]:
    """Return the groups of a task. Raises ConfigError when there are none."""
    return GroupsTaskConfig.parse(config).groups


def _task_configs(config: Mapping[str, str], key: str, work: Iterable[Sequence[object]]) -> list[dict[str, str]]:
    return [{**config, key: ",".join(map(str, part)), TASK_INDEX: str(index)} for index, part in enumerate(work)]


def _topic_partition(text: str) -> TopicPartition:
    topic, hyphen, number = text.rpartition("-")
    try:
        partition = parse_value(TASK_PARTITIONS, number if hyphen else "", Type.INT)
    except ConfigError as error:
        raise ConfigError.invalid(TASK_PARTITIONS, text, "it must be a topic, a hyphen and a partition") from error
    return TopicPartition(topic, partition)

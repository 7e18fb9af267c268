"""Convert readings of groups to families of samples, as Prometheus takes them, for any format."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from connect_dagster.plugin.metrics import MetricGroup, MetricReading, Value
from connect_dagster.worker.metrics.clients import CLIENT_GROUPS
from connect_dagster.worker.metrics.groups import GROUPS

_GROUPS = (*GROUPS, *CLIENT_GROUPS)


@dataclass(frozen=True, slots=True)
class Sample:
    """One number with its labels."""

    labels: Mapping[str, str]
    value: float


@dataclass(frozen=True, slots=True)
class Family:
    """All samples of one name.

    Attributes:
        name: in Prometheus; ends in ``_total`` where it only ever grows.
        help: description of the number.
        samples: at least one.
    """

    name: str
    help: str
    samples: tuple[Sample, ...]

    @property
    def counts(self) -> bool:
        """Return whether the number only grows."""
        return self.name.endswith("_total")


def families(readings: Iterable[MetricReading]) -> tuple[Family, ...]:
    """Return readings by name: the worker's groups in the order of the table, then those of plugins."""
    by_group: dict[_Key, list[MetricReading]] = {_key(group): [] for group in _GROUPS}
    groups = {_key(group): group for group in _GROUPS}
    for reading in readings:
        key = _key(reading.group)
        groups.setdefault(key, reading.group)
        by_group.setdefault(key, []).append(reading)
    return tuple(family for key, group in groups.items() for family in _of_group(group, by_group[key]))


_Key = tuple[str, str, tuple[str, ...]]


def _key(group: MetricGroup) -> _Key:
    # Plugins are isolated from each other: two of them may have equal groups.
    return group.type, group.prefix, group.tags


def _of_group(group: MetricGroup, readings: list[MetricReading]) -> Iterator[Family]:
    for name, help in {**group.texts, **group.numbers}.items():
        samples = tuple(_sample(one, name, one.values[name]) for one in readings if name in one.values)
        if samples:
            yield Family(f"{group.prefix}_{_underscored(name)}", help, samples)


def _sample(reading: MetricReading, name: str, value: Value) -> Sample:
    labels = dict(zip(reading.group.tags, reading.tags, strict=True))
    if isinstance(value, str):
        return Sample(labels | {_underscored(name).removesuffix("_info"): value}, 1.0)
    return Sample(labels, float(value))


def _underscored(name: str) -> str:
    return name.replace("-", "_")

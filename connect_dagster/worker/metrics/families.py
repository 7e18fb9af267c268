"""Convert readings of groups to families of samples, as Prometheus takes them, for any format."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from connect_dagster.worker.metrics.groups import GROUPS, Group

Value = float | str


@dataclass(frozen=True, slots=True)
class Reading:
    """Current values of one bean.

    Attributes:
        group: its type.
        tags: values of the group's tags.
        values: numbers and texts by Kafka's names; what is not known is left out.
    """

    group: Group
    tags: tuple[str, ...]
    values: Mapping[str, Value]


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


def families(readings: Iterable[Reading]) -> tuple[Family, ...]:
    """Readings by name, in the order of the table."""
    known = list(readings)
    return tuple(
        family for group in GROUPS for family in _of_group(group, [one for one in known if one.group is group])
    )


def _of_group(group: Group, readings: list[Reading]) -> Iterator[Family]:
    for name, help in {**group.texts, **group.numbers}.items():
        samples = tuple(_sample(one, name, one.values[name]) for one in readings if name in one.values)
        if samples:
            yield Family(f"{group.prefix}_{_underscored(name)}", help, samples)


def _sample(reading: Reading, name: str, value: Value) -> Sample:
    labels = dict(zip(reading.group.tags, reading.tags, strict=True))
    if isinstance(value, str):
        return Sample(labels | {_underscored(name).removesuffix("_info"): value}, 1.0)
    return Sample(labels, float(value))


def _underscored(name: str) -> str:
    return name.replace("-", "_")

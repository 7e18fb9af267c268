"""A batch on its way from a source task to its producer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import pyarrow as pa

from connect_dagster.errors import ConnectError


@dataclass(frozen=True, slots=True)
class RejectedRecord:
    """A record that Kafka rejected with an error that is not retriable.

    Attributes:
        error: with the record's topic and size.
        record: as arguments of ``Producer.produce``.
    """

    error: ConnectError
    record: Mapping[str, Any]


class EncodedTable(Protocol):
    """Records in bytes.

    Attributes:
        table: columns ``value`` and perhaps ``key, topic, partition, headers, timestamp``.
    """

    @property
    def table(self) -> pa.Table:
        """Return the records."""


E = TypeVar("E", bound=EncodedTable)


@dataclass(frozen=True, slots=True)
class Batch(Generic[E]):
    """Records to encode and send.

    Attributes:
        encode: runs the plan.
        topic: topic of all of them, unless the table has a column for it.
        delivered: called on the delivery thread once all records are acknowledged.
        tolerate: called for each record that Kafka rejects; returns whether to continue without it.
    """

    encode: Callable[[], E]
    topic: str | None
    delivered: Callable[[E], None]
    tolerate: Callable[[RejectedRecord], bool] = lambda _: False


def topics_of(topic: str | None, table: pa.Table) -> set[str]:
    """Return the topics of a batch: the common one, or those of the table's column."""
    if not table.num_rows:
        return set()
    if "topic" in table.column_names:
        return set(table.column("topic").unique().to_pylist()) - {None}
    return {topic} if topic is not None else set()

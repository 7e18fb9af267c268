"""Records beside the data as the tables that a worker takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_type

from connect_dagster.plugin.schema import Schema


@dataclass(frozen=True, slots=True)
class ServiceRecord:
    """A record: the fields of its key and its value in Python's terms."""

    key: Mapping[str, Any]
    value: Mapping[str, Any]


def service_table(
    records: Sequence[ServiceRecord],
    key: Schema,
    value: Schema,
    *,
    partition: int | None = None,
    headers: Mapping[str, bytes | None] | None = None,
) -> pa.Table:
    """Return records with the columns of a ``SourceTable``.

    Args:
        records: of one topic.
        key: schema of their keys.
        value: schema of their values.
        partition: of the topic; ``None`` for the partitioner's choice.
        headers: of each record.
    """
    columns = {
        "key": pa.array([record.key for record in records], to_arrow_type(key.to_spark())),
        "value": pa.array([record.value for record in records], to_arrow_type(value.to_spark())),
    }
    if partition is not None:
        columns["partition"] = pa.array([partition] * len(records), pa.int32())
    if headers:
        entries = [{"key": name, "value": content} for name, content in headers.items()]
        kind = pa.list_(pa.struct({"key": pa.string(), "value": pa.binary()}))
        columns["headers"] = pa.array([entries] * len(records), kind)
    return pa.table(columns)

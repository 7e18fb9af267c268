"""Records of changes as the Arrow tables that a worker takes: keys, envelopes, headers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from connect_dagster.connectors.mysql.decode.kernels import Longs
from connect_dagster.connectors.mysql.records.change_records import ChangeRecords
from connect_dagster.connectors.mysql.records.envelope import NEW_KEY_HEADER, OLD_KEY_HEADER
from connect_dagster.connectors.mysql.records.source_info import SourceConstants
from connect_dagster.plugin.frame_columns import TOMBSTONE
from connect_dagster.plugin.schema import Schema

_TRANSACTION = pa.struct({"id": pa.string(), "total_order": pa.int64(), "data_collection_order": pa.int64()})
_HEADER = pa.struct({"key": pa.string(), "value": pa.binary()})

WriteKey = Callable[[Mapping[str, Any]], bytes | None]
"""Returns the bytes of a key as a header."""


@dataclass(frozen=True, slots=True)
class RecordParts:
    """Parts of records that do not depend on rows.

    Attributes:
        source: constants of ``source``.
        headers: of all records.
        write_header: makes the bytes of a header's value, by its schema.
    """

    source: SourceConstants
    headers: Mapping[str, bytes | None]
    write_header: Callable[[Schema | None, Any], bytes | None]


def record_table(records: ChangeRecords, source: pa.StructArray, micros: int, headers: pa.Array | None) -> pa.Table:
    """Return the records with the columns of a ``SourceTable``.

    Args:
        records: of one table.
        source: their structs ``source``.
        micros: present time in microseconds since 1970.
        headers: of the records; ``None`` for none.
    """
    count = len(records)

    def time(value: int) -> pa.Array:
        return pa.repeat(pa.scalar(value, pa.int64()), count)

    fields = {
        "before": records.before,
        "after": records.after,
        "source": source,
        "transaction": pa.nulls(count, _TRANSACTION),
        "op": records.operation,
        "ts_ms": time(micros // 1000),
        "ts_us": time(micros),
        "ts_ns": time(micros * 1000),
    }
    has_tombstones = bool(records.tombstone.any())
    mask = pa.array(records.tombstone) if has_tombstones else None
    columns = {"value": pa.StructArray.from_arrays(list(fields.values()), list(fields), mask=mask)}
    if records.key is not None:
        columns["key"] = records.key
    if has_tombstones:
        columns[TOMBSTONE] = pa.array(records.tombstone)
    if headers is not None:
        columns["headers"] = headers
    return pa.table(columns)


def record_headers(
    records: ChangeRecords, constant: Mapping[str, bytes | None], write_key: WriteKey
) -> pa.Array | None:
    """Return the headers of records; ``None`` for none.

    Args:
        records: of one table.
        constant: headers of each record, after those of itself.
        write_key: makes the bytes of the other key of an update that changes it.
    """
    own = {
        name: keys
        for name, keys in ((NEW_KEY_HEADER, records.new_key), (OLD_KEY_HEADER, records.old_key))
        if keys is not None
    }
    if not constant and not own:
        return None
    counts = np.full(len(records), len(constant))
    for keys in own.values():
        counts += np.asarray(keys.is_valid())
    starts = np.append(0, np.cumsum(counts))
    names, values = list(constant), list(constant.values())
    which = np.tile(np.arange(len(constant)), len(records))
    if own:
        which = np.full(starts[-1], -1)
        for place in range(len(constant)):
            which[starts[1:] - len(constant) + place] = place
        for name, keys in own.items():
            records_with = np.flatnonzero(np.asarray(keys.is_valid()))
            which[starts[records_with]] = len(names) + np.arange(len(records_with))
            names += [name] * len(records_with)
            values += [write_key(key) for key in keys.drop_null().to_pylist()]
    return _lists(starts, which, names, values)


def _lists(starts: Longs, which: Longs, names: list[str], values: list[bytes | None]) -> pa.Array:
    places = pa.array(which)
    headers = pa.StructArray.from_arrays(
        [pa.array(names, pa.string()).take(places), pa.array(values, pa.binary()).take(places)], fields=list(_HEADER)
    )
    return pa.ListArray.from_arrays(pa.array(starts.astype(np.int32)), headers)

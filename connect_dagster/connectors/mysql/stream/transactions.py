"""Transaction metadata: numbers of records in their transactions, and records of beginnings and ends.

Debezium counts records one by one (``TransactionMonitor``, ``TransactionContext``); here they are counted by columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from connect_dagster.connectors.mysql.decode.kernels import Flags, Longs
from connect_dagster.connectors.mysql.records.service_records import TRANSACTION_KEY_SCHEMA, TRANSACTION_VALUE_SCHEMA
from connect_dagster.connectors.mysql.stream.change_tables import ChangeTable
from connect_dagster.connectors.mysql.stream.log_stream import LogPiece
from connect_dagster.connectors.mysql.stream.timeline import Timeline
from connect_dagster.plugin.frames import SourceTable

_ID, _COUNT = "transaction_id", "transaction_data_collection_order_"
_COLLECTION = pa.struct({"data_collection": pa.string(), "event_count": pa.int64()})


@dataclass(frozen=True, slots=True)
class OpenTransaction:
    """A transaction that has begun.

    Attributes:
        id: GTID, or the place where it begins.
        counts: of its records so far, by the names of tables.
    """

    id: str
    counts: Mapping[str, int]

    @classmethod
    def of(cls, offset: Mapping[str, Any]) -> OpenTransaction | None:
        """Return the transaction of a stored offset; ``None`` for none."""
        if _ID not in offset:
            return None
        counts = {name.removeprefix(_COUNT): int(count) for name, count in offset.items() if name.startswith(_COUNT)}
        return cls(str(offset[_ID]), counts)

    def entries(self) -> dict[str, Any]:
        """Return the entries to store in an offset."""
        return {_ID: self.id} | {f"{_COUNT}{table}": count for table, count in self.counts.items()}


class TransactionMonitor:
    """Numbers the records of transactions, across the pieces of a log.

    Args:
        topic: of beginnings and ends.
    """

    def __init__(self, topic: str) -> None:
        self._topic = topic
        self._open: OpenTransaction | None = None

    def restore(self, offset: Mapping[str, Any]) -> None:
        """Go on with the transaction of a stored offset, if one is in it."""
        self._open = OpenTransaction.of(offset)

    def entries(self) -> dict[str, Any]:
        """Return the entries to store in an offset."""
        return {} if self._open is None else self._open.entries()

    def numbered(self, piece: LogPiece, changes: Sequence[ChangeTable]) -> tuple[list[ChangeTable], list[SourceTable]]:
        """Return the records with their numbers, and a batch of beginnings and ends, or none.

        Args:
            piece: of the log.
            changes: its records.
        """
        found = _Transactions.of(piece.times, self._open)
        names = list(dict.fromkeys(str(one.captured.id) for one in changes))
        records = _Records.of(piece.times, changes, names)
        made = _numbered(changes, records, found)
        counts = _Counts.of(records, found, names)
        boundaries = _boundaries(piece.times, found, counts)
        self._open = found.open_after(piece.times, counts)
        return made, [self._batch(boundaries)] if len(boundaries) else []

    def _batch(self, rows: pa.Table) -> SourceTable:
        return SourceTable(
            rows,
            {},
            None,
            topic=self._topic,
            value_schema=TRANSACTION_VALUE_SCHEMA,
            key_schema=TRANSACTION_KEY_SCHEMA,
        )


@dataclass(frozen=True, slots=True)
class _Transactions:
    """Transactions of a piece, by their numbers in its timeline.

    Attributes:
        ids: by number; null for number 0 where none was open.
        begins: events that begin the numbers from 1 on.
        carried: the one that goes on, with the records that it had before.
        number: of the one that goes on; -1 for none.
    """

    ids: pa.Array
    begins: Longs
    carried: OpenTransaction | None
    number: int

    @classmethod
    def of(cls, times: Timeline, known: OpenTransaction | None) -> _Transactions:
        begins = np.flatnonzero(times.ordinal == 0)
        before = known if times.before.transaction is not None else None
        ids = pa.concat_arrays([pa.array([before and before.id], pa.string()), _ids(times, begins)])
        number = -1
        if before is not None:
            number = 0
        elif known is not None and len(begins) and ids[1].as_py() == known.id:
            number = 1  # it is read again from its beginning, after a restart
        return cls(ids, begins, known if number >= 0 else None, number)

    def open_after(self, times: Timeline, counts: _Counts) -> OpenTransaction | None:
        """Return the transaction that the piece leaves open; the known one where nothing happens to it."""
        if times.after.transaction is None:
            return None
        number = int(times.transaction[-1])
        name = self.ids[number].as_py()
        return None if name is None else OpenTransaction(name, counts.of_transaction(number))


@dataclass(frozen=True, slots=True)
class _Records:
    """Records of all tables, one after the other.

    Attributes:
        event: index of the event of each.
        transaction: number of its transaction.
        table: index of its table among their names.
        counts: whether it counts: it has a value, and is in a transaction.
    """

    event: Longs
    transaction: Longs
    table: Longs
    counts: Flags

    @classmethod
    def of(cls, times: Timeline, changes: Sequence[ChangeTable], names: Sequence[str]) -> _Records:
        event = np.concatenate([*(one.event for one in changes), np.empty(0, np.int64)])
        valid = [np.asarray(one.rows.column("value").is_valid()) for one in changes]
        tables = [np.full(len(one.rows), names.index(str(one.captured.id))) for one in changes]
        return cls(
            event,
            times.transaction[event],
            np.concatenate([*tables, np.empty(0, np.int64)]),
            np.concatenate([*valid, np.empty(0, np.bool_)]) & (times.ordinal[event] >= 0),
        )


@dataclass(frozen=True, slots=True)
class _Counts:
    """Numbers of records, sorted by the transaction and the table that each is of."""

    names: list[str]
    transaction: Longs
    table: Longs
    count: Longs

    @classmethod
    def of(cls, records: _Records, found: _Transactions, names: Sequence[str]) -> _Counts:
        before = {} if found.carried is None else found.carried.counts
        every = list(dict.fromkeys([*names, *before]))
        carried = np.array([every.index(name) for name in before], np.int64)
        transaction = np.append(records.transaction[records.counts], np.full(len(before), found.number))
        table = np.append(records.table[records.counts], carried)
        weight = np.append(np.ones(int(records.counts.sum()), np.int64), np.array(list(before.values()), np.int64))
        pairs, inverse = np.unique(transaction * len(every) + table, return_inverse=True)
        count = np.bincount(inverse, weight, len(pairs)).astype(np.int64)
        return cls(every, pairs // max(len(every), 1), pairs % max(len(every), 1), count)

    def of_transaction(self, number: int) -> dict[str, int]:
        """Return the numbers of a transaction by the names of tables."""
        those = np.flatnonzero(self.transaction == number)
        return {self.names[self.table[at]]: int(self.count[at]) for at in those.tolist()}

    def lists(self, numbers: Longs) -> tuple[pa.Array, pa.Array]:
        """Return for some transactions the number of their records, and these by table."""
        first, last = (np.searchsorted(self.transaction, numbers, side) for side in ("left", "right"))
        sums, sizes = np.append(0, np.cumsum(self.count)), last - first
        starts = np.append(0, np.cumsum(sizes))
        places = np.arange(starts[-1]) - np.repeat(starts[:-1] - first, sizes)
        names = pa.array(self.names, pa.string()).take(pa.array(self.table[places]))
        counts = pa.StructArray.from_arrays([names, pa.array(self.count[places])], fields=list(_COLLECTION))
        return pa.array(sums[last] - sums[first]), pa.ListArray.from_arrays(pa.array(starts, pa.int32()), counts)


def _numbered(changes: Sequence[ChangeTable], records: _Records, found: _Transactions) -> list[ChangeTable]:
    total, within = np.zeros(len(records.event), np.int64), np.zeros(len(records.event), np.int64)
    total[records.counts] = _ranks(records, records.counts)
    before = {} if found.carried is None else found.carried.counts
    goes_on = records.transaction == found.number
    total[goes_on] += sum(before.values())
    for name, table in {str(one.captured.id): int(records.table[at]) for one, at in _starts(changes)}.items():
        those = records.counts & (records.table == table)
        within[those] = _ranks(records, those)
        within[those & goes_on] += before.get(name, 0)
    block = pa.StructArray.from_arrays(
        [found.ids.take(pa.array(records.transaction)), pa.array(total), pa.array(within)],
        ["id", "total_order", "data_collection_order"],
        mask=pa.array(~records.counts),
    )
    return [replace(one, rows=_with_block(one.rows, block.slice(at, len(one.rows)))) for one, at in _starts(changes)]


def _starts(changes: Sequence[ChangeTable]) -> list[tuple[ChangeTable, int]]:
    """Return the records of each table with the index of the first one among all."""
    starts = np.append(0, np.cumsum([len(one.rows) for one in changes]))
    return list(zip(changes, starts[:-1].astype(int).tolist(), strict=True))


def _ranks(records: _Records, those: Flags) -> Longs:
    """Return the numbers of some records in their transactions, from 1 on, in the order of the log."""
    order = np.argsort(records.event[those], kind="stable")
    sorted_ = records.transaction[those][order]
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order)) - np.searchsorted(sorted_, sorted_) + 1
    return ranks


def _with_block(rows: pa.Table, block: pa.StructArray) -> pa.Table:
    (value,) = rows.column("value").chunks
    names = [part.name for part in value.type]
    parts = [block if name == "transaction" else value.field(name) for name in names]
    made = pa.StructArray.from_arrays(parts, names, mask=value.is_null())
    return rows.set_column(rows.schema.get_field_index("value"), "value", made)


def _ids(times: Timeline, begins: Longs) -> pa.Array:
    """Return the ids of transactions by the events that begin them: their GTIDs, or their places."""
    gtids = times.gtids(begins)
    if not gtids.null_count:
        return gtids
    positions = times.position[begins].tolist()
    pairs = zip(gtids.to_pylist(), positions, strict=True)
    return pa.array([gtid or f"file={times.before.file},pos={position}" for gtid, position in pairs], pa.string())


def _boundaries(times: Timeline, found: _Transactions, counts: _Counts) -> pa.Table:
    """Return the records of beginnings and ends, in their order."""
    begins = found.begins[1:] if found.number == 1 else found.begins
    ends = np.flatnonzero(times.commits & (times.ordinal >= 0))
    if found.ids[0].as_py() is None:
        ends = ends[times.transaction[ends] > 0]
    sums, lists = counts.lists(times.transaction[ends])
    event = np.concatenate([begins, ends])
    order = np.argsort(event, kind="stable")
    of_end = np.append(np.full(len(begins), -1), np.arange(len(ends)))[order]
    indices = pa.array(of_end, mask=of_end < 0)
    ids = found.ids.take(pa.array(times.transaction[event[order]]))
    values = {
        "status": pa.array(["END", "BEGIN"]).take(pa.array((of_end < 0).astype(np.int64))),
        "id": ids,
        "event_count": sums.take(indices),
        "data_collections": lists.take(indices),
        "ts_ms": pa.array(times.micros[event[order]] // 1000),
    }
    return pa.table(
        {
            "key": pa.StructArray.from_arrays([ids], ["id"]),
            "value": pa.StructArray.from_arrays(list(values.values()), list(values)),
        }
    )

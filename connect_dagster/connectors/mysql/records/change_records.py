"""Records of changed rows: which ones a change has, and what is in them (Debezium: ``RelationalChangeRecordEmitter``).

A change may have several records. An update that changes the key is a delete of the old one and an insert of the new
one; a tombstone follows each delete.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from connect_dagster.connectors.mysql.decode.kernels import Flags, Longs
from connect_dagster.connectors.mysql.decode.row_events import DELETE, INSERT, UPDATE, RowChanges
from connect_dagster.connectors.mysql.records.captured_table import CapturedField, CapturedTable
from connect_dagster.connectors.mysql.records.envelope import Operation
from connect_dagster.connectors.mysql.records.types import row_type

Decode = Callable[[CapturedField], pa.Array]
"""Returns the decoded values of a field's column, one for each image."""


@dataclass(frozen=True, slots=True)
class RecordChoice:
    """Options that decide on which records a change has.

    Attributes:
        tombstones: whether one follows each delete.
        skipped: operations without records.
        skips_unchanged: whether an update that changes no captured column has none.
    """

    tombstones: bool = True
    skipped: frozenset[Operation] = frozenset()
    skips_unchanged: bool = False


@dataclass(frozen=True, slots=True)
class ChangeRecords:
    """Records of one table, in the order of the changes.

    Attributes:
        change: index of the change that each record is of.
        operation: ``op``; null for a tombstone.
        before: rows before the change; null where there is none.
        after: rows after it.
        key: keys; ``None`` for a table without them.
        new_key: with the delete of an old key, the new one; ``None`` where there is none.
        old_key: with the insert of a new key, the old one.
        tombstone: which records have no value.
    """

    change: Longs
    operation: pa.Array
    before: pa.Array
    after: pa.Array
    key: pa.Array | None
    new_key: pa.Array | None
    old_key: pa.Array | None
    tombstone: Flags

    def __len__(self) -> int:
        return len(self.change)


_BEFORE, _AFTER, _NONE = 0, 1, -1  # of the images of a change
_REKEY = 3  # a kind of change, beside INSERT, UPDATE and DELETE


@dataclass(frozen=True, slots=True)
class _Form:
    """A record of a change: its operation, and which images are in it."""

    operation: Operation | None
    key: int
    before: int = _NONE
    after: int = _NONE
    new_key: int = _NONE
    old_key: int = _NONE


_DELETE, _CREATE, _UPDATE = Operation.DELETE, Operation.CREATE, Operation.UPDATE
_FORMS: dict[int, tuple[_Form, ...]] = {
    INSERT: (_Form(_CREATE, _AFTER, after=_AFTER),),
    UPDATE: (_Form(_UPDATE, _AFTER, _BEFORE, _AFTER),),
    DELETE: (_Form(_DELETE, _BEFORE, _BEFORE), _Form(None, _BEFORE)),
    _REKEY: (
        _Form(_DELETE, _BEFORE, _BEFORE, new_key=_AFTER),
        _Form(None, _BEFORE, new_key=_AFTER),
        _Form(_CREATE, _AFTER, after=_AFTER, old_key=_BEFORE),
    ),
}
_CAUSES = {INSERT: _CREATE, UPDATE: _UPDATE, DELETE: _DELETE, _REKEY: _UPDATE}


def change_records(table: CapturedTable, changes: RowChanges, decode: Decode, choice: RecordChoice) -> ChangeRecords:
    """Return the records of changes.

    Args:
        table: whose rows changed.
        changes: of the rows, with the indices of their images.
        decode: gives the values of a column.
        choice: of the records.
    """
    row, key = _rows(table.row, decode), _rows(table.key, decode) if table.key else None
    kind = changes.operation.astype(np.int64)
    updates = np.flatnonzero(kind == UPDATE)
    if len(updates) and key is not None:
        kind[updates[~_unchanged(key, changes, updates)]] = _REKEY
    kept = np.ones(len(kind), np.bool_)
    if len(updates) and choice.skips_unchanged:
        kept[updates] = ~_unchanged(row, changes, updates)
    return _Laid.out(kind, np.flatnonzero(kept), choice).records(changes, row, key)


def read_records(table: CapturedTable, decode: Decode, count: int) -> ChangeRecords:
    """Return the records of rows that a snapshot has read.

    Args:
        table: that has the rows.
        decode: gives the values of a column.
        count: number of rows.
    """
    row, key = _rows(table.row, decode), _rows(table.key, decode) if table.key else None
    return ChangeRecords(
        change=np.arange(count),
        operation=pa.repeat(pa.scalar(Operation.READ.value), count),
        before=pa.nulls(count, row.type),
        after=row,
        key=key,
        new_key=None,
        old_key=None,
        tombstone=np.zeros(count, np.bool_),
    )


def truncate_record(table: CapturedTable) -> ChangeRecords:
    """Return the record of a table that lost all its rows, which has no key."""
    none = pa.nulls(1, row_type(table.row_schema))
    return ChangeRecords(
        change=np.zeros(1, np.int64),
        operation=pa.array([Operation.TRUNCATE.value]),
        before=none,
        after=none,
        key=None,
        new_key=None,
        old_key=None,
        tombstone=np.zeros(1, np.bool_),
    )


@dataclass(frozen=True, slots=True)
class _Laid:
    """Records in their order: of which change each one is, and its form, an index of ``forms``."""

    change: Longs
    form: Longs
    forms: tuple[_Form, ...]

    @classmethod
    def out(cls, kind: Longs, kept: Longs, choice: RecordChoice) -> _Laid:
        """Return the records of the changes that are kept."""
        chosen = [_chosen(one, choice) for one in range(len(_FORMS))]
        starts = np.cumsum([0, *map(len, chosen)])
        counts = np.diff(starts)[kind[kept]]
        change = np.repeat(kept, counts)
        within = np.arange(len(change)) - np.repeat(np.cumsum(counts) - counts, counts)
        return cls(change, starts[kind[change]] + within, tuple(form for forms in chosen for form in forms))

    def records(self, changes: RowChanges, row: pa.Array, key: pa.Array | None) -> ChangeRecords:
        """Return the records of rows and keys."""
        images = np.stack([changes.before, changes.after, np.full(len(changes.operation), _NONE)])[:, self.change]
        every = np.arange(len(self.change))

        def taken(values: pa.Array, name: str) -> pa.Array:
            which = np.array([getattr(form, name) for form in self.forms], np.int64)
            return _taken(values, images[which[self.form], every])

        operations = pa.array([form.operation and form.operation.value for form in self.forms], pa.string())
        tombstones = np.array([form.operation is None for form in self.forms], np.bool_)
        used = {name for form in np.unique(self.form).tolist() for name in _keys_in(self.forms[form])}
        return ChangeRecords(
            self.change,
            operations.take(pa.array(self.form)),
            taken(row, "before"),
            taken(row, "after"),
            None if key is None else taken(key, "key"),
            taken(key, "new_key") if "new_key" in used else None,
            taken(key, "old_key") if "old_key" in used else None,
            tombstones[self.form],
        )


def _chosen(kind: int, choice: RecordChoice) -> list[_Form]:
    if _CAUSES[kind] in choice.skipped:
        return []
    # A tombstone goes where its delete goes.
    return [
        form
        for form in _FORMS[kind]
        if (form.operation or _DELETE) not in choice.skipped and (form.operation is not None or choice.tombstones)
    ]


def _keys_in(form: _Form) -> list[str]:
    return [name for name in ("new_key", "old_key") if getattr(form, name) != _NONE]


def _rows(fields: Sequence[CapturedField], decode: Decode) -> pa.StructArray:
    arrays = [one.values(decode(one)) for one in fields]
    return pa.StructArray.from_arrays(arrays, [one.name for one in fields])


def _taken(values: pa.Array, images: Longs) -> pa.Array:
    """Return the values of images; null where there is none."""
    none = images < 0
    if none.all():
        return pa.nulls(len(images), values.type)
    if len(images) == len(values) and (images == np.arange(len(values))).all():
        return values
    return values.take(pa.array(images, pa.int64(), mask=none))


def _unchanged(values: pa.Array, changes: RowChanges, updates: Longs) -> Flags:
    """Return which updates leave values as they were."""
    before, after = (values.take(pa.array(those[updates])) for those in (changes.before, changes.after))
    return _same(before, after)


def _same(one: pa.Array, other: pa.Array) -> Flags:
    """Compare arrays as Java's ``equals`` does: nulls are equal, and so are values that are not a number."""
    if pa.types.is_struct(one.type):
        same: Flags = np.asarray(one.is_null()) == np.asarray(other.is_null())
        for left, right in zip(one.flatten(), other.flatten(), strict=True):
            same &= _same(left, right)
        return same
    equal = pc.fill_null(pc.equal(one, other), False)
    if pa.types.is_floating(one.type):
        equal = pc.or_(equal, pc.fill_null(pc.and_(pc.is_nan(one), pc.is_nan(other)), False))
    found: Flags = np.asarray(pc.or_(equal, pc.and_(one.is_null(), other.is_null())))
    return found

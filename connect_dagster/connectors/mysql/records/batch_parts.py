"""Parts of a batch, as large as a worker sends at once.

What a server sends in some bytes becomes ten times as many in an envelope: names, ``source``, both images.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from connect_dagster.plugin.frames import SourceTable

MOST_BYTES = 16 << 20
"""Bytes of a part in Arrow, which has about as many as its records in JSON."""


def parts(batch: SourceTable, most_bytes: int = MOST_BYTES) -> Iterator[SourceTable]:
    """Yield the parts of a batch in order; its offsets are those of the last one.

    Args:
        batch: of any size.
        most_bytes: of a part, about.
    """
    rows = len(batch.table)
    count = -(-batch.table.nbytes // most_bytes)
    each = max(1, -(-rows // max(1, count)))
    last = max(0, rows - 1) // each * each
    for start in range(0, last, each):
        table = batch.table.slice(start, each)
        yield replace(batch, table=table, source_partition={}, source_offset=None, other_offsets=())
    yield replace(batch, table=batch.table.slice(last))

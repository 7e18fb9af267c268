"""Generated offsets of delivered records."""

from itertools import pairwise

import numpy as np
from hypothesis import strategies as st

from connect_dagster.connectors.mirror.sync_state import Offsets

Pairs = list[tuple[int, int]]
"""Upstream and downstream offset of each record, in the order of delivery."""


@st.composite
def deliveries(draw: st.DrawFn) -> Pairs:
    """Runs of records, with gaps and steps back between them on either side."""
    upstream, downstream = draw(st.integers(0, 50)), draw(st.integers(0, 50))
    pairs: Pairs = []
    for count in draw(st.lists(st.integers(1, 30), max_size=8)):
        pairs += [(upstream + place, downstream + place) for place in range(count)]
        upstream = max(0, upstream + count + draw(st.sampled_from([0, 0, 0, 1, 7, -1, -40])))
        downstream = max(0, downstream + count + draw(st.sampled_from([0, 0, 0, 1, 2, 40, -3, -100])))
    return pairs


def batches(pairs: Pairs, cuts: list[int]) -> list[Pairs]:
    """Return the records cut into batches at these places, modulo their number."""
    edges = sorted({0, len(pairs), *(cut % (len(pairs) + 1) for cut in cuts)})
    return [pairs[start:end] for start, end in pairwise(edges)]


def columns(pairs: Pairs) -> tuple[Offsets, Offsets]:
    """Return the upstream and the downstream offsets; of at least one record."""
    upstream, downstream = zip(*pairs, strict=True)
    return np.array(upstream, np.int64), np.array(downstream, np.int64)

"""The fields of events that begin and end transactions, of which a log may have one for each row."""

from __future__ import annotations

import numpy as np

from connect_dagster.connectors.mysql.decode.kernels import Bytes, Longs, kernel, unsigned

OTHER, BEGIN, COMMIT = range(3)
"""Statements of QUERY events."""

_UPPER = 0xDF  # without the bit by which ASCII letters of both cases differ
_BEGIN = np.frombuffer(b"BEGIN", np.uint8)
_COMMIT = np.frombuffer(b"COMMIT", np.uint8)
_BEFORE_VARIABLES = 13
_SOURCE, _NUMBER, _TIME_KIND, _TIME = 1, 17, 25, 42
_LOGICAL_TIMESTAMPS, _TIME_SIZE = 2, 7
_HAS_ORIGINAL_TIME = np.int64(1 << 55)
SOURCE_SIZE = 16
"""Bytes of the UUID of a source."""

_SIZE = SOURCE_SIZE


@kernel
def statement_kinds(buffer: Bytes, body: Longs, length: Longs, kinds: Longs, threads: Longs) -> None:
    """Fill in the kind of each QUERY's statement and the number of the thread that ran it."""
    for event in range(body.shape[0]):
        at = body[event]
        end = at + length[event]
        threads[event] = unsigned(buffer, at, 4)
        schema = unsigned(buffer, at + 8, 1)
        at += _BEFORE_VARIABLES + unsigned(buffer, at + 11, 2) + schema + 1
        kinds[event] = OTHER
        for kind in range(BEGIN, COMMIT + 1):
            word = _BEGIN if kind == BEGIN else _COMMIT
            if end - at != word.shape[0]:
                continue
            same = True
            for place in range(word.shape[0]):
                if buffer[at + place] & _UPPER != word[place]:
                    same = False
            if same:
                kinds[event] = kind


@kernel
def gtid_fields(buffer: Bytes, body: Longs, length: Longs, sources: Bytes, numbers: Longs, micros: Longs) -> None:
    """Fill in the source's 16 bytes, the number, and the time of the first commit, 0 where it is not known."""
    for event in range(body.shape[0]):
        at = body[event]
        for place in range(_SIZE):
            sources[event * _SIZE + place] = buffer[at + _SOURCE + place]
        numbers[event] = unsigned(buffer, at + _NUMBER, 8)
        micros[event] = 0
        if length[event] < _TIME + _TIME_SIZE or unsigned(buffer, at + _TIME_KIND, 1) != _LOGICAL_TIMESTAMPS:
            continue
        time = np.int64(unsigned(buffer, at + _TIME, _TIME_SIZE))
        if time & _HAS_ORIGINAL_TIME:
            time = np.int64(unsigned(buffer, at + _TIME + _TIME_SIZE, _TIME_SIZE))
        micros[event] = time


@kernel
def mariadb_gtid_fields(buffer: Bytes, body: Longs, numbers: Longs, domains: Longs, flags: Longs) -> None:
    """Fill in the number, the domain and the flags of each GTID of MariaDB."""
    for event in range(body.shape[0]):
        numbers[event] = unsigned(buffer, body[event], 8)
        domains[event] = unsigned(buffer, body[event] + 8, 4)
        flags[event] = unsigned(buffer, body[event] + 12, 1)

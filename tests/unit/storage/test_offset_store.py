"""How offsets are found: by connector and partition, whatever the bytes of the key are."""

from __future__ import annotations

import pytest

from connect_dagster.errors import DataError
from connect_dagster.storage.offset_store import OffsetTable

PARTITION = {"a": 1, "b": 2}
JAVAS, OTHERS = b'["c",{"a":1,"b":2}]', b'["c",{"b":2,"a":1}]'


def table(*entries: tuple[bytes, bytes | None]) -> OffsetTable:
    made = OffsetTable()
    for key, value in entries:
        assert made.put(key, value)
    return made


def test_a_new_partition_gets_javas_key() -> None:
    assert table().change("c", {"b": 2, "a": 1}, {"n": 1}) == {JAVAS: b'{"n":1}'}
    assert table().change("c", {"b": 2, "a": 1}, None) == {JAVAS: None}
    assert (table().offset("c", PARTITION), table().offsets_of("c")) == (None, [])


def test_a_known_partition_keeps_its_key() -> None:
    known = table((OTHERS, b'{"n":1}'))
    assert known.offset("c", PARTITION) == {"n": 1}
    assert known.change("c", PARTITION, {"n": 2}) == {OTHERS: b'{"n":2}'}


@pytest.mark.parametrize(("first", "second"), [(JAVAS, OTHERS), (OTHERS, JAVAS)])
def test_of_two_keys_the_latest_counts_and_a_reset_takes_both(first: bytes, second: bytes) -> None:
    known = table((first, b'{"n":1}'), (second, b'{"n":2}'))
    assert (known.offset("c", PARTITION), len(known.offsets_of("c"))) == ({"n": 2}, 1)
    known.put(first, b'{"n":3}')
    assert known.offset("c", PARTITION) == {"n": 3}
    assert known.change("c", PARTITION, {"n": 4}) == {first: b'{"n":4}'}
    known.put(first, None)
    assert (known.offset("c", PARTITION), known.change("c", PARTITION, {"n": 4})) == ({"n": 2}, {second: b'{"n":4}'})
    assert known.change("c", PARTITION, None) == {first: None, second: None}


def test_keys_that_are_none_of_offsets_are_kept_and_told() -> None:
    made = OffsetTable()
    assert [made.put(key, b"?") for key in (b"no json", b'["c"]', b'["c",7]', b"[7,{}]")] == [False] * 4
    assert (len(made.entries), made.offsets_of("c")) == (4, [])


def test_an_offset_that_is_no_object_is_an_error() -> None:
    with pytest.raises(DataError, match="is not a JSON object"):
        table((JAVAS, b"7")).offset("c", PARTITION)

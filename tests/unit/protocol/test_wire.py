"""Kafka's primitive types: their bytes, and what is said of bytes that are none."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connect_dagster.protocol import wire
from connect_dagster.protocol.wire import MalformedBytes, Reader

Read = Callable[[Reader], Any]
Write = Callable[[Any], bytes]

FORMS: dict[str, tuple[Write, Read, st.SearchStrategy[Any]]] = {
    "int8": (wire.int8, Reader.int8, st.integers(-(1 << 7), (1 << 7) - 1)),
    "int16": (wire.int16, Reader.int16, st.integers(-(1 << 15), (1 << 15) - 1)),
    "int32": (wire.int32, Reader.int32, st.integers(-(1 << 31), (1 << 31) - 1)),
    "int64": (wire.int64, Reader.int64, st.integers(-(1 << 63), (1 << 63) - 1)),
    "varint": (wire.unsigned_varint, Reader.unsigned_varint, st.integers(0, (1 << 32) - 1)),
    "string": (wire.string, Reader.string, st.text()),
    "nullable string": (wire.nullable_string, Reader.nullable_string, st.none() | st.text()),
    "data": (wire.data, Reader.data, st.binary()),
    "nullable data": (wire.nullable_data, Reader.nullable_data, st.none() | st.binary()),
    "compact string": (wire.compact_string, Reader.compact_string, st.text()),
    "compact nullable string": (
        wire.compact_nullable_string,
        Reader.compact_nullable_string,
        st.none() | st.text(),
    ),
    "compact data": (wire.compact_data, Reader.compact_data, st.binary()),
    "array": (
        lambda items: wire.array(map(wire.int32, items)),
        lambda reader: list(reader.array(reader.int32)),
        st.lists(st.integers(-5, 5)),
    ),
    "nullable array": (
        lambda items: wire.nullable_array(None if items is None else map(wire.string, items)),
        lambda reader: reader.nullable_array(reader.string),
        st.none() | st.lists(st.text()).map(tuple),
    ),
    "compact array": (
        lambda items: wire.compact_array(map(wire.compact_string, items)),
        lambda reader: list(reader.compact_array(reader.compact_string)),
        st.lists(st.text()),
    ),
}


@pytest.mark.parametrize("form", FORMS)
@given(data=st.data())
def test_what_is_written_is_read(form: str, data: st.DataObject) -> None:
    write, read, values = FORMS[form]
    value = data.draw(values)
    encoded = write(value)
    reader = Reader(encoded + b"after")
    assert read(reader) == value
    assert reader.position == len(encoded)


@pytest.mark.parametrize("form", FORMS)
@given(data=st.data())
def test_every_cut_is_malformed_and_says_where(form: str, data: st.DataObject) -> None:
    write, read, values = FORMS[form]
    encoded = write(data.draw(values))
    for size in range(len(encoded)):
        with pytest.raises(MalformedBytes, match=f"at byte [0-9]+ of {size}$") as caught:
            read(Reader(encoded[:size]))
        assert 0 <= caught.value.position <= size


@pytest.mark.parametrize("form", FORMS)
@given(encoded=st.binary(max_size=12))
def test_any_bytes_are_malformed_or_come_back_equal(form: str, encoded: bytes) -> None:
    write, read, _ = FORMS[form]
    reader = Reader(encoded)
    try:
        value = read(reader)
    except MalformedBytes:
        return
    assert write(value) == encoded[: reader.position]


@pytest.mark.parametrize(
    ("write", "value", "encoded"),
    [
        (wire.int16, -2, "fffe"),
        (wire.int64, 0xB3, "00000000000000b3"),
        (wire.string, "키", "0003 ed82a4"),
        (wire.string, "half a pair: \ud800", "000e 68616c66206120706169723a203f"),  # Java writes a question mark too
        (wire.nullable_string, None, "ffff"),
        (wire.nullable_data, None, "ffffffff"),
        (wire.nullable_array, None, "ffffffff"),
        (wire.array, [], "00000000"),
        (wire.unsigned_varint, 300, "ac02"),
        (wire.compact_nullable_string, None, "00"),
        (wire.compact_string, "", "01"),
        (wire.compact_array, [], "01"),
    ],
)
def test_bytes_of_a_value(write: Write, value: Any, encoded: str) -> None:
    assert write(value) == bytes.fromhex(encoded)


@pytest.mark.parametrize(
    ("read", "encoded", "reason"),
    [
        (Reader.string, "ffff", "string must not be null, at byte 0 of 2"),
        (Reader.data, "ffffffff", "byte string must not be null, at byte 0 of 4"),
        (Reader.compact_string, "00", "string must not be null, at byte 0 of 1"),
        (Reader.nullable_string, "fffe", "string of length -2, at byte 0 of 2"),
        (Reader.nullable_data, "0000000a 00", "byte string of length 10 where 1 bytes are left, at byte 0 of 5"),
        (Reader.string, "0002 61ff", "string is not UTF-8, at byte 3 of 4"),
        (Reader.unsigned_varint, "ffffffff1f", "not a varint of 32 bits in its shortest form, at byte 0 of 5"),
        (Reader.unsigned_varint, "8000", "not a varint of 32 bits in its shortest form, at byte 0 of 2"),
        (Reader.int32, "0000", "a number of 4 bytes was expected, but the bytes end, at byte 0 of 2"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(read: Read, encoded: str, reason: str) -> None:
    with pytest.raises(MalformedBytes) as caught:
        read(Reader(bytes.fromhex(encoded)))
    assert str(caught.value) == reason


def test_an_array_that_cannot_fit_is_refused_before_it_is_read() -> None:
    reader = Reader(wire.int32(0x7FFFFFFF) + b"\x00" * 8)
    with pytest.raises(MalformedBytes, match="array of length 2147483647 where 8 bytes are left"):
        reader.array(reader.int8)


def test_tags_are_kept_as_they_are() -> None:
    tags = bytes.fromhex("02 00 03 616263 07 00")
    reader = Reader(tags + b"\x05")
    assert reader.tags() == tags
    assert not reader.exhausted
    with pytest.raises(MalformedBytes, match="1 bytes more than the message has, at byte 8 of 9"):
        reader.finish()


def test_a_nested_message_counts_from_the_start_of_all() -> None:
    reader = Reader(wire.int16(1) + wire.data(wire.int16(7)) + wire.int16(9))
    reader.int16()
    nested = reader.nested()
    assert nested is not None
    assert (nested.int16(), nested.exhausted, reader.int16()) == (7, True, 9)
    with pytest.raises(MalformedBytes, match="at byte 8 of 10"):
        nested.int8()


def test_a_string_longer_than_kafka_knows_is_refused() -> None:
    assert len(wire.string("x" * 32767)) == 2 + 32767
    with pytest.raises(ValueError, match="32768 bytes"):
        wire.string("x" * 32768)

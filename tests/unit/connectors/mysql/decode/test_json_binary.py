"""Binary JSON as text, against documents that are read value by value."""

import json
from decimal import Decimal
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connect_dagster.connectors.mysql.decode.json_binary import json_texts
from connect_dagster.connectors.mysql.decode.kernels import writable
from tests import binary_json
from tests.binary_json import Opaque, Unsigned, packed
from tests.binlog import decimal


def texts(*documents: bytes | None) -> list[str | None]:
    """Return the texts of a column with a length of four bytes before each document."""
    data, offsets = b"", []
    for document in documents:
        offsets.append(-1 if document is None else len(data))
        data += b"" if document is None else len(document).to_bytes(4, "little") + document
    valid = np.array(offsets) >= 0
    starts, out = json_texts(writable(data), np.array(offsets, np.int32), 4, valid)
    found = [out[start:end].tobytes().decode() for start, end in pairwise(starts)]
    return [text if is_valid else None for text, is_valid in zip(found, valid.tolist(), strict=True)]


NUMBERS = st.integers(-(1 << 63), (1 << 63) - 1) | st.integers(0, (1 << 64) - 1).map(Unsigned) | st.integers(-9, 9)
MOMENTS = st.tuples(
    st.sampled_from([7, 12]), st.datetimes().map(lambda value: packed(*value.timetuple()[:6], value.microsecond))
).map(lambda found: Opaque(bytes([found[0]]) + found[1]))
SCALARS = (
    st.none()
    | st.booleans()
    | NUMBERS
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=9)
    | st.binary(max_size=9).map(lambda value: Opaque(b"\xfc" + value))
    | MOMENTS
)
DOCUMENTS = st.recursive(
    SCALARS,
    lambda parts: st.lists(parts, max_size=4) | st.dictionaries(st.text(max_size=5), parts, max_size=4),
    max_leaves=12,
)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(DOCUMENTS, st.booleans()), min_size=1, max_size=4))
def test_documents_by_chance(values: list[tuple[Any, bool]]) -> None:
    documents = [binary_json.write(value, large=large) for value, large in values]
    assert texts(*documents, None) == [*map(binary_json.text, documents), None]


@settings(max_examples=20, deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | NUMBERS | st.text(max_size=9),
        lambda parts: st.lists(parts) | st.dictionaries(st.text(max_size=9), parts),
    )
)
def test_the_text_means_the_document(value: Any) -> None:
    (text,) = texts(binary_json.write(value, large=True))
    assert json.loads(text or "") == value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({}, "{}"),
        ([], "[]"),
        ({"a": [1, None, True], "b": "x"}, '{"a":[1,null,true],"b":"x"}'),
        ('"\\\b\t\n\f\r\x1f/é', '"\\"\\\\\\b\\t\\n\\f\\r\\u001F/é"'),
        (1.0, "1.0"),
        (-0.0, "-0.0"),
        (0.001, "0.001"),
        (9999999.5, "9999999.5"),
        (1e7, "10000000"),  # where Java's Double.toString would write 1.0E7
        (1e23, "99999999999999991611392"),
        (5e-05, "0.0000500000000000000023960868011929647991564706899225711822509765625"),
        (Unsigned((1 << 64) - 1), "18446744073709551615"),
        (-(1 << 63), "-9223372036854775808"),
        (Opaque(b"\x0a" + packed(2015, 1, 15, 0, 0, 0, 0)), '"2015-01-15"'),
        (Opaque(b"\x0c" + packed(2015, 1, 15, 23, 24, 25, 120_000)), '"2015-01-15 23:24:25.12"'),
        (Opaque(b"\x07" + packed(2015, 1, 15, 23, 24, 25, 0)), '"2015-01-15 23:24:25"'),
        (Opaque(b"\x0b" + packed(0, 0, 0, 23, 24, 25, 12_000)), '"23:24:25.012"'),
        (Opaque(b"\x0b" + (-(1 << 12 << 24)).to_bytes(8, "little", signed=True)), '"-01:00:00"'),
        (Opaque(b"\xf6\x0a\x02" + decimal(10, 2).write(Decimal("-12.50"))), "-12.50"),
        (Opaque(b"\xfcabc"), '"YWJj"'),
    ],
)
def test_the_text_of_each_type(value: Any, text: str) -> None:
    assert texts(binary_json.write(value), binary_json.write([value, value])) == [text, f"[{text},{text}]"]


def test_a_document_without_bytes() -> None:
    assert texts(b"", binary_json.write(1)) == [None, "1"]


def test_documents_that_are_none() -> None:
    endless = b"\x02" + bytes.fromhex("01000700 02 0000")  # an array that contains itself
    for document in (b"\x0d\0", b"\x05\0", endless):
        with pytest.raises(IndexError):
            texts(document)

"""Lines of standard input as records."""

import io

import click
import pytest

from connect_dagster.cli.topics.writing import Record, records


def test_without_a_separator_a_line_is_a_value() -> None:
    assert list(records(io.BytesIO(b"a:1\n\nlast"), None, None)) == [
        Record(None, b"a:1"),
        Record(None, b""),
        Record(None, b"last"),
    ]


def test_a_line_end_of_windows_is_no_part_of_the_value() -> None:
    assert list(records(io.BytesIO(b"a\r\nb\r\r\n"), None, None)) == [Record(None, b"a"), Record(None, b"b\r")]


def test_the_first_separator_ends_the_key() -> None:
    given = io.BytesIO("키::값::2\n::v\nk::\n".encode())
    assert list(records(given, None, "::")) == [
        Record("키".encode(), "값::2".encode()),
        Record(b"", b"v"),
        Record(b"k", b""),
    ]


def test_a_line_without_separator_is_named() -> None:
    found = records(io.BytesIO(b"k=v\nwrong\n"), None, "=")
    assert next(found) == Record(b"k", b"v")
    with pytest.raises(click.ClickException, match="Line 2 has no key separator '='"):
        next(found)


def test_one_key_for_all_and_tombstones() -> None:
    given = io.BytesIO(b"a\n\n")
    assert list(records(given, "k", None, empty_is_null=True)) == [Record(b"k", b"a"), Record(b"k", None)]

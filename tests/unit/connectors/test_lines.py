"""Whole lines of a growing file."""

import logging
import os
import shutil
from pathlib import Path

import pytest

from connect_dagster.connectors.file import lines
from connect_dagster.connectors.file.lines import Chunk, LineFile, whole_lines, without_terminator
from connect_dagster.connectors.file.rotated_files import FileMark

CHUNK = 64
KOREAN = "first message\nseconde line\n세번째 메시지\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "log.txt"


def append(file: Path, data: bytes) -> None:
    with file.open("ab") as out:
        out.write(data)


def append_at(file: Path, data: bytes, seconds: int) -> None:
    append(file, data)
    os.utime(file, (seconds, seconds))


def reader(file: Path, position: int = 0, chunk: int = CHUNK, limit: int | None = None) -> LineFile:
    return LineFile(file, position, chunk, limit)


def rest(one: LineFile) -> list[Chunk]:
    """All chunks that are there."""
    found = []
    while (chunk := one.read()) is not None:
        found.append(chunk)
    return found


@pytest.mark.parametrize(
    ("data", "length"),
    [
        (b"", 0),
        (b"half", 0),
        (b"one\n", 4),
        (b"one\nhalf", 4),
        (b"one\r\ntwo\r\n", 10),
        (b"one\r", 0),  # may be half of \r\n
        (b"one\rtwo", 4),
        (b"one\r\r", 4),
        (b"one\n\r", 4),
        (b"one\ntwo\rthree\r", 8),
        (b"\n\n", 2),
    ],
)
def test_where_whole_lines_end(data: bytes, length: int) -> None:
    assert whole_lines(data) == length
    assert whole_lines(data, 100) == length


@pytest.mark.parametrize(("limit", "length"), [(1, 2), (2, 5), (3, 7), (4, 9), (5, 9)])
def test_a_limit_counts_lines_of_all_endings(limit: int, length: int) -> None:
    assert whole_lines(b"a\nb\r\nc\rd\ne", limit) == length


@pytest.mark.parametrize(
    ("data", "bare"),
    [
        (b"a\n", b"a"),
        (b"a\r\n", b"a"),
        (b"a\r", b"a"),
        (b"a\n\n", b"a\n"),
        (b"a\n\r\n", b"a\n"),
        (b"a", b"a"),
        (b"", b""),
    ],
)
def test_the_last_terminator_is_left_out(data: bytes, bare: bytes) -> None:
    assert without_terminator(data, len(data)) == bare
    assert without_terminator(data + b"\r\nrest", len(data)) == bare


def test_a_file_that_is_not_there_yet(file: Path) -> None:
    one = reader(file)
    with pytest.raises(FileNotFoundError):
        one.read()
    file.write_bytes(b"a\n")
    assert one.read() == Chunk(b"a", 2)


def test_a_partial_line_is_held_back(file: Path) -> None:
    file.write_bytes(b"one\nha")
    one = reader(file)
    assert rest(one) == [Chunk(b"one", 4)]
    append(file, b"lf")
    assert rest(one) == []
    append(file, b"\nnext")
    assert rest(one) == [Chunk(b"half", 9)]


def test_a_carriage_return_at_the_end_waits_for_what_follows(file: Path) -> None:
    file.write_bytes(b"one\r")
    one = reader(file)
    assert rest(one) == []
    append(file, b"\ntwo\r")
    assert rest(one) == [Chunk(b"one", 5)]
    append(file, b"three\n")
    assert rest(one) == [Chunk(b"two\rthree", 15)]


@pytest.mark.parametrize("cut", range(1, 12))
def test_a_terminator_cut_by_the_end_of_a_read(file: Path, cut: int) -> None:
    data = b"ab\r\ncd\r\nef\r\n"
    file.write_bytes(data)
    chunks = rest(reader(file, chunk=cut))
    assert b"\n".join(chunk.data.replace(b"\r\n", b"\n") for chunk in chunks) == b"ab\ncd\nef"
    assert chunks[-1].position == len(data)


def test_a_line_longer_than_a_chunk(file: Path) -> None:
    giant = b"x" * (CHUNK * 40 + 7)
    file.write_bytes(giant + b"\nshort\n")
    chunks = rest(reader(file))
    assert b"\n".join(chunk.data for chunk in chunks) == giant + b"\nshort"
    assert chunks[-1].position == len(giant) + 7


def test_a_partial_line_is_read_once_for_each_growth(file: Path) -> None:
    file.write_bytes(b"x" * 1000)
    one = reader(file)
    assert one.read() is None
    opened = one._file
    assert opened is not None
    opened.seek(0)
    assert one.read() is None
    assert opened.tell() == 0, "nothing new, nothing read"
    append(file, b"\n")
    assert one.read() == Chunk(b"x" * 1000, 1001)


def test_at_most_so_many_lines(file: Path) -> None:
    file.write_bytes(b"a\nb\nc\nd\ne\n")
    assert [chunk.data for chunk in rest(reader(file, limit=2))] == [b"a\nb", b"c\nd", b"e"]


def test_going_on_at_a_position(file: Path) -> None:
    file.write_bytes(b"one\ntwo\n")
    assert rest(reader(file, position=4)) == [Chunk(b"two", 8)]


def test_copytruncate(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    file.write_bytes(b"one\ntwo\n")
    one = reader(file)
    assert rest(one) == [Chunk(b"one\ntwo", 8)]
    file.with_suffix(".1").write_bytes(file.read_bytes())
    with file.open("r+b") as same:
        same.truncate()
    assert rest(one) == []
    append(file, b"new\n")
    assert rest(one) == [Chunk(b"new", 4)]
    assert caplog.messages == [f"File {file} was truncated below position 8: reading from its start"]


def test_a_file_shorter_than_the_stored_position(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    file.write_bytes(b"new\n")
    assert rest(reader(file, position=100)) == [Chunk(b"new", 4)]
    assert "was truncated below position 100" in caplog.text


@pytest.fixture
def no_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "_ROTATION_GRACE_SECONDS", 0.0)


@pytest.mark.usefixtures("no_grace")
def test_rotation_takes_the_old_files_rest_then_the_new_one(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    file.write_bytes(b"one\n")
    one = reader(file)
    assert rest(one) == [Chunk(b"one", 4)]
    old = file.rename(file.with_suffix(".1"))
    assert rest(one) == []
    append(old, b"two\nthree without end\r")
    assert one.read() == Chunk(b"two", 8)
    file.touch()
    assert one.read() is None, "nobody writes to the new file yet"
    append(file, b"four\n")
    assert rest(one) == [Chunk(b"three without end", 0), Chunk(b"four", 5)]
    assert caplog.messages == [f"File {file} was rotated: reading the new one from its start"]


def test_rotation_waits_for_those_who_still_write_to_the_old_file(file: Path) -> None:
    file.write_bytes(b"one\n")
    one = reader(file)
    assert rest(one) == [Chunk(b"one", 4)]
    old = file.rename(file.with_suffix(".1"))
    file.write_bytes(b"new\n")
    assert one.read() is None
    append(old, b"late\n")
    assert one.read() == Chunk(b"late", 9)
    assert one.read() is None, "the wait begins anew"


ROTATED_TWICE = {
    "numbers": ("log.txt.1", ("log.txt.2", "log.txt.1")),
    "dates behind": ("log.txt-20261123", ("log.txt-20261123", "log.txt-20261124")),
    "dates within": ("log-2026-11-23.txt", ("log-2026-11-23.txt", "log-2026-11-24.txt")),
}


@pytest.mark.usefixtures("no_grace")
@pytest.mark.parametrize(("first", "names"), ROTATED_TWICE.values(), ids=list(ROTATED_TWICE))
def test_r5_a_file_that_is_rotated_twice(file: Path, first: str, names: tuple[str, str]) -> None:
    """At ce718d3 the middle file was never read."""
    append_at(file.with_name("log.txt.7"), b"of last week\n", 1)
    for other in ("log.txt.sink", "log2.txt", "log-2.txt", "log.txt2", "other.txt.1"):
        append_at(file.with_name(other), b"of another program\n", 4)
    append_at(file, b"one\n", 2)
    one = reader(file)
    assert rest(one) == [Chunk(b"one", 4)]
    oldest = file.rename(file.with_name(first))
    append_at(file, b"two\nthree", 3)
    middle, oldest = file.with_name(names[1]), oldest.rename(file.with_name(names[0]))
    file.rename(middle)
    append_at(file, b"four\n", 5)
    found: list[bytes] = []
    while not found or found[-1] != b"four":
        chunk = one.read()
        found += [chunk.data] if chunk else []
    assert found == [b"two", b"three", b"four"]


@pytest.mark.usefixtures("no_grace")
def test_r5_a_compressed_file_is_named_with_its_size(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    """At ce718d3 nothing said that a file was missing."""
    append_at(file, b"one\n", 2)
    one = reader(file)
    rest(one)
    file.rename(file.with_name("log.txt.2"))
    packed = file.with_name("log.txt.1.gz")
    append_at(packed, b"packed", 3)
    append_at(file, b"four\n", 5)
    assert one.read() is None
    assert rest(one) == [Chunk(b"four", 5)]
    assert caplog.messages == [f"File {packed} was compressed before it was read: its 6 bytes are missing"]


HEAD = b"these are the first bytes of the file, enough to tell it from all others\n"


class Down:
    """A reader that has read the first lines of a file that is rotated now and then, and ended.

    Attributes:
        position: bytes that it has read.
    """

    def __init__(self, file: Path) -> None:
        append_at(file.with_name("log.txt.9"), b"of last week\n", 1)
        append_at(file, HEAD, 2)
        one = reader(file)
        self._file = file
        self.position = rest(one)[-1].position
        self._mark = str(one.mark)
        one.close()

    def lines(self, count: int) -> list[bytes]:
        """Read this many chunks after a restart."""
        mark = FileMark.parse(self._mark)
        assert mark is not None
        one = LineFile(self._file, self.position, CHUNK, None, mark)
        found: list[bytes] = []
        while len(found) < count:
            chunk = one.read()
            found += [chunk.data] if chunk else []
        assert one.read() is None
        one.close()
        return found


def rotate(file: Path, number: int, data: bytes, seconds: int) -> Path:
    """Rename a file, and write to a new one; return where the old one is."""
    moved = file.rename(file.with_name(f"{file.name}.{number}"))
    append_at(file, data, seconds)
    return moved


def test_a_file_without_rotated_ones_has_no_mark(file: Path) -> None:
    append(file.with_name("log.txt.sink"), b"of another program\n")
    append(file, b"one\n")
    one = reader(file)
    rest(one)
    assert one.mark is None


@pytest.mark.usefixtures("no_grace")
def test_r5_a_file_that_is_rotated_while_nobody_reads_it(file: Path) -> None:
    """At 1f0d1e0 the rest of it, and the middle file, were never read; the log said nothing."""
    down = Down(file)
    append_at(file, b"two\n", 3)
    rotate(file, 2, b"three\n", 4)
    rotate(file, 1, b"four\n", 5)
    assert down.lines(3) == [b"two", b"three", b"four"]


@pytest.mark.usefixtures("no_grace")
def test_r5_a_file_that_was_rotated_before_the_new_one_exists(file: Path) -> None:
    down = Down(file)
    append_at(file, b"two\n", 3)
    file.rename(file.with_name("log.txt.1"))
    assert down.lines(1) == [b"two"]


@pytest.mark.usefixtures("no_grace")
def test_r5_a_file_that_was_copied_and_truncated(file: Path) -> None:
    down = Down(file)
    append_at(file, b"two\n", 3)
    shutil.copy2(file, file.with_name("log.txt.1"))
    file.write_bytes(b"")
    append_at(file, b"three is longer than all that was there before" * 3 + b"\n", 4)
    assert [line[:5] for line in down.lines(2)] == [b"two", b"three"]


@pytest.mark.usefixtures("no_grace")
def test_r5_a_file_that_was_compressed_is_named(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    """At 1f0d1e0 nothing said that lines are missing."""
    down = Down(file)
    append_at(file, b"two\n", 3)
    rotate(file, 3, b"three\n", 4).unlink()
    append_at(file.with_name("log.txt.3.gz"), b"packed", 3)
    rotate(file, 2, b"four\n", 5)
    assert down.lines(2) == [b"three", b"four"]
    assert caplog.messages == [
        f"The file that offset {down.position} of file {file} belongs to was truncated, compressed or removed: what it "
        "had after that offset is missing, and compressed files since (log.txt.3.gz (6 bytes)); reading "
        f"{file}.2 from its start"
    ]


@pytest.mark.usefixtures("no_grace")
def test_r5_another_file_that_got_the_inode(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    down = Down(file)
    file.write_bytes(b"x" * down.position + b"\n")
    os.utime(file, (3, 3))
    assert down.lines(1) == [b"x" * down.position]
    assert "(there are none); reading" in caplog.text


@pytest.mark.usefixtures("no_grace")
def test_r5_the_first_rotation_of_a_file(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Its offset has no mark; a line ends there in the rotated file, but in no other."""
    append_at(file, b"first\nsecond\n", 2)
    rotate(file, 1, b"a line that is longer\n", 3)
    one = reader(file, position=6)
    chunks = [one.read() for _ in range(3)]
    assert [chunk and chunk.data for chunk in chunks] == [b"second", None, b"a line that is longer"]
    assert f"No line of file {file} ends at offset 6" in caplog.text


@pytest.mark.parametrize("text", [None, 7, "", "1-2-3", "1-2-3-xyz", "1-2-3-0000000g"])
def test_what_is_no_mark_is_ignored(text: object) -> None:
    assert FileMark.parse(text) is None


def test_a_position_of_java_counts_characters(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    file.write_bytes(KOREAN.encode() + b"fourth\n")
    assert rest(reader(file, position=35)) == [Chunk(b"fourth", 54)]
    assert caplog.messages == [
        f"Offset 35 of file {file} counts characters, as Java's worker does; continuing at byte 47"
    ]


def test_a_position_of_java_beyond_the_basic_plane(file: Path) -> None:
    file.write_text("😀😀\nnext\n")
    assert rest(reader(file, position=5)) == [Chunk(b"next", 14)]


def test_a_position_of_java_on_bytes_that_are_no_text(file: Path) -> None:
    file.write_bytes(b"\xed\xa0\x80\xff!\nnext\n")  # Java replaces the three bytes by one character
    assert rest(reader(file, position=4)) == [Chunk(b"next", 11)]


@pytest.mark.parametrize("position", [14, 27, 47])
def test_a_position_that_is_the_start_of_a_line_counts_bytes(
    file: Path, position: int, caplog: pytest.LogCaptureFixture
) -> None:
    data = KOREAN.encode() + b"fourth\n"
    file.write_bytes(data)
    assert b"\n".join(chunk.data for chunk in rest(reader(file, position=position))) == data[position:-1]
    assert caplog.messages == []


def test_a_position_in_the_middle_of_everything_stays(file: Path) -> None:
    file.write_bytes(b"one\ntwo\n")
    assert rest(reader(file, position=2)) == [Chunk(b"e\ntwo", 8)]

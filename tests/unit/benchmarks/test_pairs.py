"""Lines that go from file to file through a source and a sink."""

from pathlib import Path

import pytest

from benchmarks.pairs import Pair


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    made = Pair(tmp_path / "input", tmp_path / "output", ({"name": "source"}, {"name": "sink"}))
    made.append("one\n")
    made.append("two\n")
    return made


def test_lines_are_through_once_all_are_there_and_no_other(pair: Pair) -> None:
    assert not pair.through()
    for written, through in (("one\n", False), ("one\ntw", False), ("one\ntwo\n", True), ("one\ntwo\nsix\n", False)):
        pair.output.write_text(written)
        assert pair.through() is through


def test_a_line_may_come_twice(pair: Pair) -> None:
    pair.output.write_text("one\ntwo\none\n")
    assert pair.through()


def test_a_source_alone_has_nothing_to_wait_for(pair: Pair) -> None:
    assert Pair(pair.input, pair.output, pair.connectors[:1]).through()

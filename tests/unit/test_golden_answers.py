"""Java's recorded answers: when Java is asked, and what a difference does."""

from pathlib import Path

import pytest

from tests.golden_answers import Golden

ANSWER = {"bytes": b"\xac\xed", "text": ["é", b"utf-8"], "nothing": None}


def never() -> object:
    raise AssertionError("Java is asked")


def record(file: Path, answer: object) -> None:
    golden = Golden(file, "record")
    golden.answer("question", lambda: answer)
    golden.close()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    record(tmp_path / "answers.json", ANSWER)
    return tmp_path / "answers.json"


def test_a_recorded_answer_needs_no_java(file: Path) -> None:
    assert Golden(file, "").answer("question", never) == ANSWER


def test_a_question_without_an_answer_names_the_remedy(file: Path) -> None:
    with pytest.raises(AssertionError, match="no answer to 'another': run `make golden`"):
        Golden(file, "").answer("another", never)


def test_java_is_asked_again_and_compared(file: Path) -> None:
    assert Golden(file, "check").answer("question", lambda: ANSWER) == ANSWER
    with pytest.raises(AssertionError, match="otherwise than answers"):
        Golden(file, "check").answer("question", lambda: ANSWER | {"nothing": 1})


def test_checking_writes_nothing(file: Path) -> None:
    before = file.read_bytes()
    golden = Golden(file, "check")
    golden.answer("question", lambda: ANSWER)
    golden.close()
    assert file.read_bytes() == before


def test_recording_keeps_only_what_was_asked(file: Path) -> None:
    golden = Golden(file, "record")
    golden.answer("new", lambda: 1)
    golden.close()
    assert Golden(file, "").answer("new", never) == 1
    with pytest.raises(AssertionError):
        Golden(file, "").answer("question", never)


def test_generated_input_is_drawn_when_answers_are_recorded(file: Path) -> None:
    golden = Golden(file, "record")
    assert golden.drawn("input", lambda: [1, b"x"]) == [1, b"x"]
    golden.close()
    assert Golden(file, "").drawn("input", never) == Golden(file, "check").drawn("input", never) == [1, b"x"]

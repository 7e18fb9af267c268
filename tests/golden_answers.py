"""Java's recorded answers: `make test` compares with them, and needs no JVM for Java's side.

A test asks the fixture `golden` of its module for an answer by key, and hands in how to ask Java. The environment
variable `GOLDEN` decides what happens then:

- unset: the recorded answer is returned, Java is not asked (`make test`).
- `record`: Java is asked, and `tests/golden/<module>.json` is written with its answers alone (`make golden`).
- `check`: Java is asked, and its answer must equal the recorded one (`make nightly`).

Answers are JSON values, and bytes, which are written as `{"utf8": ...}` or `{"base64": ...}`.
"""

import base64
import hashlib
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).with_name("golden")


class Golden:
    """The recorded answers of one test module.

    Args:
        file: Where they are.
        mode: The value of `GOLDEN`.
    """

    def __init__(self, file: Path, mode: str) -> None:
        assert mode in ("", "record", "check"), f"GOLDEN={mode}"
        self.mode = mode
        self._file = file
        self._new: dict[str, Any] = {}
        known = file.is_file() and mode != "record"
        self._answers: dict[str, Any] = json.loads(file.read_text(encoding="utf-8")) if known else {}

    def answer(self, key: str, ask: Callable[[], Any]) -> Any:
        """Return Java's answer; `ask` is called only when Java is to be asked."""
        if self.mode == "":
            return _decoded(self._recorded(key))
        asked = json.loads(json.dumps(_encoded(ask())))
        if self.mode == "check":
            parts = differing_parts(key, self._recorded(key), asked)
            differences = "\n".join(f"{path}\n  recorded {before!r}\n  now {now!r}" for path, before, now in parts)
            assert not differences, f"Java answers otherwise than {self._file.name} says:\n{differences}"
        self._new[key] = asked
        return _decoded(asked)

    def drawn(self, key: str, draw: Callable[[], Any]) -> Any:
        """Return generated input, which is drawn when answers are recorded and stays the same until the next time."""
        if self.mode != "record":
            return _decoded(self._recorded(key))
        self._new[key] = json.loads(json.dumps(_encoded(draw())))
        return _decoded(self._new[key])

    def varying(self, key: str, make: Callable[[], Any]) -> Any:
        """Return what Java makes differently each time: the recorded one, or a new one when Java is to be asked."""
        if self.mode == "":
            return _decoded(self._recorded(key))
        self._new[key] = _encoded(made := make())
        return made

    def close(self) -> None:
        """Write what was recorded."""
        if self.mode == "record" and self._new:
            self._file.parent.mkdir(exist_ok=True)
            self._file.write_text(_text(self._new), encoding="utf-8")

    def _recorded(self, key: str) -> Any:
        assert key in self._answers, f"{self._file.name} has no answer to {key!r}: run `make golden` and commit it"
        return self._answers[key]


def digest(question: Any) -> str:
    """Return a short name of a question that is too long for a key."""
    return hashlib.sha256(json.dumps(_encoded(question), sort_keys=True).encode()).hexdigest()[:12]


@pytest.fixture(scope="module")
def golden(request: pytest.FixtureRequest) -> Iterator[Golden]:
    """Java's recorded answers to the questions of this module."""
    name = Path(request.path).stem.removeprefix("test_")
    answers = Golden(FOLDER / f"{name}.json", os.environ.get("GOLDEN", ""))
    yield answers
    answers.close()


def _text(answers: dict[str, Any]) -> str:
    """Sort the answers, and give each element of a list a line, so that a diff shows the one that changed."""
    return "{\n" + ",\n".join(f"{json.dumps(key)}: {_lines(answers[key])}" for key in sorted(answers)) + "\n}\n"


def _lines(answer: Any, depth: int = 1) -> str:
    """Give each element of the two outer levels a line."""
    if depth > 2 or not isinstance(answer, list | dict) or not answer:
        return json.dumps(answer)
    margin = "\n" + depth * " "
    if isinstance(answer, list):
        return f"[{margin}" + f",{margin}".join(_lines(one, depth + 1) for one in answer) + "]"
    pairs = (f"{json.dumps(key)}: {_lines(one, depth + 1)}" for key, one in answer.items())
    return f"{{{margin}" + f",{margin}".join(pairs) + "}"


def differing_parts(path: str, left: Any, right: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yield the parts in which two documents differ, each with its path.

    An object may also be a list of pairs, so equal keys are equal first elements.
    """
    match left, right:
        case dict(), dict() if left.keys() == right.keys():
            for key in left:
                yield from differing_parts(f"{path}.{key}", left[key], right[key])
        case list(), list() if len(left) == len(right):
            for number, (one, other) in enumerate(zip(left, right, strict=True)):
                pair = isinstance(one, list) and isinstance(other, list) and one[:1] == other[:1] and len(one) == 2
                yield from differing_parts(f"{path}.{one[0] if pair else number}", one, other)
        case _ if left != right:
            yield path, left, right


def _encoded(value: Any) -> Any:
    match value:
        case bytes():
            try:
                return {"utf8": value.decode()}
            except UnicodeDecodeError:
                return {"base64": base64.b64encode(value).decode()}
        case dict():
            return {key: _encoded(one) for key, one in value.items()}
        case list() | tuple():
            return [_encoded(one) for one in value]
    return value


def _decoded(value: Any) -> Any:
    match value:
        case {"utf8": str(data)} if len(value) == 1:
            return data.encode()
        case {"base64": str(data)} if len(value) == 1:
            return base64.b64decode(data)
        case dict():
            return {key: _decoded(one) for key, one in value.items()}
        case list():
            return [_decoded(one) for one in value]
    return value

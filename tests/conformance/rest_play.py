"""Plays a scene of the script to a worker, and brings its answers into a form that can be compared.

What differs between two workers by nature is replaced by its name: addresses, files, topics, times, the frames
of a stack trace. Key order is kept for documents whose order Jackson fixes, and dropped for maps.
"""

import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.conformance.rest_script import Step
from tests.rest_calls import Answer, call

POLL_SECONDS = 0.1
SECONDS = 30.0

# Values of these keys are maps of Java's, whose order says nothing; an `expand` answer is one as well.
UNORDERED = frozenset({"config", "partition", "offset"})
# Free text, written anew by us.
UNCOMPARED = frozenset({"documentation"})
# Configuration keys that connectors of ours have and Java's have not.
OUR_KEYS = frozenset({"invalid.utf8"})
INSTANT = re.compile(r"\d{13}")


@dataclass(frozen=True, slots=True)
class Seen:
    """An answer without what differs by nature."""

    status: int
    content_type: str | None
    location: str | None
    allow: frozenset[str]
    body: Any


@dataclass(frozen=True, slots=True)
class Side:
    """A worker and what the names in the script mean for it.

    Attributes:
        url: its REST API, as `http://host:port`.
        names: what to put for `{name}` in the script.
    """

    url: str
    names: Mapping[str, str]

    def play(self, steps: tuple[Step, ...]) -> dict[str, Seen]:
        """Answers by step."""
        return {step.id: self._seen(step, self._answer(step)) for step in steps}

    def _answer(self, step: Step) -> Answer:
        method, _, target = self._filled(step.request).partition(" ")
        body = step.body if isinstance(step.body, bytes) else json.dumps(step.body).encode()
        content = None if step.body is None else self._filled_bytes(body)
        deadline = time.monotonic() + SECONDS
        while True:
            answer = call(self.url, method, target, content, step.headers)
            if step.until(self._neutral_answer(answer)):
                return answer
            if time.monotonic() > deadline:
                raise TimeoutError(f"{self.url}: {step.id}: still {answer}")
            time.sleep(POLL_SECONDS)

    def _neutral_answer(self, answer: Answer) -> Answer:
        return Answer(answer.status, answer.headers, self._neutral(answer.body.decode()).encode())

    def _filled(self, text: str) -> str:
        for name, value in self.names.items():
            text = text.replace(f"{{{name}}}", value)
        return text

    def _filled_bytes(self, body: bytes) -> bytes:
        if body.startswith(b"\xff\xfe"):
            return self._filled(body.decode("utf-16")).encode("utf-16")
        return self._filled(body.decode("latin-1")).encode("latin-1")

    def _neutral(self, text: str) -> str:
        for name, value in self.names.items():
            text = text.replace(value, f"{{{name}}}")
        return text.replace(self.url.removeprefix("http://"), "{worker}")

    def _seen(self, step: Step, answer: Answer) -> Seen:
        location = answer.headers.get("location")
        return Seen(
            status=answer.status,
            content_type=answer.headers.get("content-type"),
            location=self._neutral(location) if location else None,
            allow=frozenset(filter(None, answer.headers.get("allow", "").split(","))),
            body=_comparable(step, self._neutral(answer.body.decode())),
        )


def _comparable(step: Step, text: str) -> Any:
    if step.request.startswith("OPTIONS"):
        return sorted(text.split(", "))
    try:
        return _ordered(json.loads(text), ordered="?expand" not in step.request)
    except ValueError:
        return text


def _ordered(value: Any, *, ordered: bool = True) -> Any:
    if isinstance(value, dict):
        pairs = [(key, _value(key, inner)) for key, inner in value.items() if key not in UNCOMPARED]
        return pairs if ordered else sorted(pairs, key=lambda pair: pair[0])
    if isinstance(value, list):
        return [_ordered(inner) for inner in value if not _is_our_key(inner)]
    return value


def _is_our_key(entry: Any) -> bool:
    """Whether an entry describes, or tells the value of, a key that is ours alone."""
    return isinstance(entry, dict) and entry.get("value", entry).get("name") in OUR_KEYS


def _value(key: str, value: Any) -> Any:
    if key == "recommended_values":
        # Which plugins there are is compared where they are listed.
        return bool(value)
    if key == "trace":
        return str(value).splitlines()[0]
    if key == "last_modified" and isinstance(value, int):
        return "{instant}" if INSTANT.fullmatch(str(value)) else value
    return _ordered(value, ordered=key not in UNORDERED)

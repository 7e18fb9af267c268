"""Plays a scene of the script to a worker, and brings its answers into a form that can be compared.

What differs between two workers by nature is replaced by its name: addresses, files, topics, times, the frames
of a stack trace. Key order is kept for documents whose order Jackson fixes, and dropped for maps.
"""

import json
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from http.client import HTTPException
from typing import Any

from tests.conformance.rest_differences import Difference
from tests.conformance.rest_script import Step, at_once
from tests.golden_answers import Golden, differing_parts
from tests.rest_calls import Answer, call

POLL_SECONDS = 0.1
SECONDS = 60.0

# Values of these keys are maps of Java's, whose order says nothing, and so are these answers as a whole.
UNORDERED = frozenset({"config", "partition", "offset"})
MAP = re.compile(r"[?]expand|^GET /connectors/[^/]+/config$")
# Free text, written anew by us.
UNCOMPARED = frozenset({"documentation"})
# Configuration keys that connectors of ours have and Java's have not.
OUR_KEYS = frozenset({"invalid.utf8"})
# Likewise of sources: Kafka Connect has a dead letter queue for sinks alone.
OUR_SOURCES_KEYS = frozenset(
    {
        "errors.deadletterqueue.topic.name",
        "errors.deadletterqueue.topic.replication.factor",
        "errors.deadletterqueue.context.headers.enable",
    }
)
COLUMN = re.compile(r"column: (\d+)")
INSTANT = re.compile(r"\d{13}")


@dataclass(frozen=True, slots=True)
class Seen:
    """An answer without what differs by nature."""

    status: int
    content_type: str | None
    location: str | None
    allow: tuple[str, ...]
    body: Any


@dataclass(frozen=True, slots=True)
class Side:
    """A worker and what the names in the script mean for it.

    Attributes:
        url: its REST API, as `http://host:port`.
        names: what to put for `{name}` in the script.
        momentary: answers that no caller takes for final: the call is repeated.
        settled_seconds: how long the answer to a repeated call has to stay as it was waited for.
    """

    url: str
    names: Mapping[str, str]
    momentary: Callable[[Answer], bool] = lambda _: False
    settled_seconds: float = 0

    def play(self, steps: tuple[Step, ...]) -> dict[str, Seen]:
        """Answers by step."""
        return {step.id: self._seen(step, self._answer(step)) for step in steps}

    def _answer(self, step: Step) -> Answer:
        method, _, target = self._filled(step.request).partition(" ")
        content = self._content(step)
        headers = {name: self._filled(value) for name, value in step.headers.items()}
        settled_after = 0 if step.until is at_once else self.settled_seconds
        start = since = time.monotonic()
        while True:
            try:
                answer = call(self.url, method, target, content, headers)
            except (OSError, HTTPException) as error:
                error.add_note(f"{self.url}: {step.id}, with the names {self.names}")
                raise
            now = time.monotonic()
            if self.momentary(answer) or not step.until(self._neutral_answer(answer)):
                since = now
            elif now - since >= settled_after:
                return answer
            if now - start > SECONDS:
                raise TimeoutError(f"{self.url}: {step.id}: still {answer}")
            time.sleep(POLL_SECONDS)

    def _content(self, step: Step) -> bytes | None:
        if step.body is None:
            return None
        return self._filled_bytes(step.body if isinstance(step.body, bytes) else json.dumps(step.body).encode())

    def _neutral_columns(self, step: Step, text: str) -> str:
        """Columns of the body that was sent, as if it had names in the place of what they stand for here."""
        sent = (self._content(step) or b"").decode("latin-1")
        return COLUMN.sub(lambda found: f"column: {len(self.neutral(sent[: int(found[1]) - 1])) + 1}", text)

    def _neutral_answer(self, answer: Answer) -> Answer:
        return Answer(answer.status, answer.headers, self.neutral(answer.body.decode()).encode())

    def _filled(self, text: str) -> str:
        for name, value in self.names.items():
            text = text.replace(f"{{{name}}}", value)
        return text

    def _filled_bytes(self, body: bytes) -> bytes:
        if body.startswith(b"\xff\xfe"):
            return self._filled(body.decode("utf-16")).encode("utf-16")
        return self._filled(body.decode("latin-1")).encode("latin-1")

    def neutral(self, text: str) -> str:
        """A text with names in the place of what they stand for here."""
        for name, value in self.names.items():
            text = text.replace(value, f"{{{name}}}")
        return text.replace(self.url.removeprefix("http://"), "{worker}")

    def _seen(self, step: Step, answer: Answer) -> Seen:
        location = answer.headers.get("location")
        return Seen(
            status=answer.status,
            content_type=answer.headers.get("content-type"),
            location=self.neutral(location) if location else None,
            allow=tuple(sorted(filter(None, answer.headers.get("allow", "").split(",")))),
            body=_comparable(step, self._neutral_columns(step, self.neutral(answer.body.decode()))),
        )


def recorded(golden: Golden, scene: str, play: Callable[[], dict[str, Seen]]) -> dict[str, Seen]:
    """Return Java's recorded answers to a scene, by step; `play` asks Java when they are recorded or checked."""
    answers = golden.answer(scene, lambda: {step: asdict(seen) for step, seen in play().items()})
    return {step: Seen(**(seen | {"allow": tuple(seen["allow"])})) for step, seen in answers.items()}


def problems(step: str, java: Seen, ours: Seen, allowed: Difference | None) -> list[str]:
    """What is wrong between two answers: differences that are not allowed, and allowed ones that are gone.

    Args:
        step: the call's id, for the texts.
        java: Java's answer.
        ours: our answer.
        allowed: how the two may differ, and then must.
    """
    differing = {field.name for field in fields(Seen) if getattr(java, field.name) != getattr(ours, field.name)}
    unexpected = sorted(differing - (allowed.parts if allowed else frozenset()))
    found = [
        f"{step}: {path}\n  java {theirs!r}\n  ours {own!r}"
        for part in unexpected
        for path, theirs, own in differing_parts(part, getattr(java, part), getattr(ours, part))
    ]
    if allowed and (gone := allowed.parts - differing):
        found.append(f"{step}: no difference any more in {sorted(gone)}")
    if allowed and (ours.status != allowed.ours or allowed.says not in str(ours.body)):
        found.append(f"{step}: ours is not as listed: {ours}")
    if allowed and allowed.same_sentence and _sentence(java) != _sentence(ours):
        found.append(f"{step}: the first line is another:\n  java {_sentence(java)!r}\n  ours {_sentence(ours)!r}")
    return found


def _sentence(seen: Seen) -> str:
    return str(dict(seen.body)["message"]).partition("\n")[0]


def _comparable(step: Step, text: str) -> Any:
    if step.request.startswith("OPTIONS"):
        return sorted(text.split(", "))
    try:
        return _ordered(json.loads(text), ordered=not MAP.search(step.request))
    except ValueError:
        return text


def _ordered(value: Any, *, ordered: bool = True) -> Any:
    if isinstance(value, dict):
        pairs = [[key, _value(key, inner)] for key, inner in value.items() if key not in UNCOMPARED]
        return pairs if ordered else sorted(pairs, key=lambda pair: pair[0])
    if isinstance(value, list):
        of_sink = any(_key_of(inner) == "topics" for inner in value)
        ours_alone = OUR_KEYS if of_sink else OUR_KEYS | OUR_SOURCES_KEYS
        return [_ordered(inner) for inner in value if _key_of(inner) not in ours_alone]
    return value


def _key_of(entry: Any) -> Any:
    """The configuration key that an entry describes, or tells the value of."""
    return entry.get("value", entry).get("name") if isinstance(entry, dict) else None


def _value(key: str, value: Any) -> Any:
    if key == "recommended_values":
        # Which plugins there are is compared where they are listed.
        return bool(value)
    if key == "trace":
        return str(value).splitlines()[0]
    if key == "last_modified" and isinstance(value, int):
        return "{instant}" if INSTANT.fullmatch(str(value)) else value
    return _ordered(value, ordered=key not in UNORDERED)

"""Compares what two connectors captured: every field of every record, but for those that depend on the time."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Any

from tests.conformance.capture_play import JAVA, OURS, Captured, Record

_TIMES = ("ts_ms", "ts_us", "ts_ns")
_ABSENT = "(absent)"


@dataclass(frozen=True, slots=True)
class Difference:
    """A field that differs.

    Attributes:
        topic: of the record, without the prefix; ``offset`` for the committed offset.
        record: its number.
        path: names and indices on the way to the field.
        java: Java's value.
        ours: our value.
    """

    topic: str
    record: int
    path: str
    java: Any
    ours: Any

    def __str__(self) -> str:
        return f"{self.topic}[{self.record}] {self.path}: java {_short(self.java)} ours {_short(self.ours)}"


def differences(captured: dict[str, Captured]) -> list[Difference]:
    """Return all differences."""
    java, ours = captured[JAVA], captured[OURS]
    found = list(_different("failure", 0, "", java.failure is None, ours.failure is None))
    found += _different("offset", 0, "", java.offset, ours.offset)
    for topic in sorted({*java.topics, *ours.topics}):
        found += _of_topic(topic, java.topics.get(topic, []), ours.topics.get(topic, []))
    return found


def _of_topic(topic: str, java: list[Record], ours: list[Record]) -> Iterator[Difference]:
    """Compare records that are about the same; those that only one side has are differences as a whole."""
    names = [[_subject(record) for record in records] for records in (java, ours)]
    matching = SequenceMatcher(None, names[0], names[1], autojunk=False)
    for kind, start, end, other_start, other_end in matching.get_opcodes():
        pairs = zip_longest(range(start, end), range(other_start, other_end))
        if kind == "equal":
            for one, other in pairs:
                yield from _different(topic, one, "", _comparable(java[one]), _comparable(ours[other]))
        else:
            for one, other in pairs:
                missing = [_ABSENT if at is None else names[of][at] for of, at in enumerate((one, other))]
                yield Difference(topic, start, "record", *missing)


def _subject(record: Record) -> str:
    """Return the statement of a schema change, or key and operation of a change."""
    value = record.value
    payload = value.get("payload", value) if isinstance(value, dict) else value
    if isinstance(payload, dict) and "ddl" in payload:
        return str(payload["ddl"])
    key = record.key.get("payload") if isinstance(record.key, dict) else record.key
    return json.dumps([key, payload.get("op") if isinstance(payload, dict) else payload])


def _comparable(record: Record) -> dict[str, Any]:
    headers = {name: value for name, value in record.headers if not name.endswith(".runId")}
    value = record.value
    if isinstance(value, dict):
        value = _blanked(value)
    return {"key": record.key, "value": value, "headers": headers, "header names": [name for name, _ in record.headers]}


def _blanked(value: dict[str, Any]) -> dict[str, Any]:
    """Return a value without times of processing, and without those of a snapshot."""
    if "position" in value:  # of the schema history
        position = value["position"]
        blank = {"ts_sec": "snapshot"} if "snapshot" in position else {}
        return {**value, "ts_ms": 0, "position": {**position, **blank}}
    payload = value.get("payload")
    if not isinstance(payload, dict):
        return value
    payload = {name: 0 if name in _TIMES else field for name, field in payload.items()}
    source = payload.get("source")
    if isinstance(source, dict) and source.get("snapshot") != "false":
        payload["source"] = {name: 0 if name in _TIMES else field for name, field in source.items()}
    return {**value, "payload": payload}


def _different(topic: str, number: int, path: str, java: Any, ours: Any) -> Iterator[Difference]:
    if isinstance(java, dict) and isinstance(ours, dict):
        for name in [*java, *(name for name in ours if name not in java)]:
            yield from _different(topic, number, f"{path}/{name}", java.get(name, _ABSENT), ours.get(name, _ABSENT))
    elif isinstance(java, list) and isinstance(ours, list) and len(java) == len(ours):
        for index, (one, other) in enumerate(zip(java, ours, strict=True)):
            name = one.get("field", one.get("name", index)) if isinstance(one, dict) else index
            yield from _different(topic, number, f"{path}/{name}", one, other)
    elif type(java) is not type(ours) or java != ours:
        yield Difference(topic, number, path, java, ours)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 400 else f"{text[:400]}… ({len(text)})"

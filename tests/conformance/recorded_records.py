"""Answers about records as they are recorded: data as text, and a schema that many records share written once.

Data is recorded as text where it is text, as bytes where not. An envelope, `{"schema": ..., "payload": ...}`, becomes
the pair of the schema's number in `schemas` and its payload's text.
"""

import json
from collections.abc import Callable
from typing import Any

from tests.conformance.java_records import JavaProcess, JavaRecords, as_base64, from_base64
from tests.golden_answers import Golden, digest

_SCHEMA, _PAYLOAD = '{"schema":', ',"payload":'
_DATA = ("data", "key", "value")


def recorded(golden: Golden, process: JavaProcess) -> JavaRecords:
    """Return Java's recorded answers; the process is asked when answers are recorded or checked."""

    def ask(question: dict[str, Any]) -> Any:
        about = " ".join([question["do"], question["class"].rpartition(".")[2], json.dumps(question["config"])])
        return golden.answer(f"{about} {digest(question)}", lambda: _readable(process.ask(question)))

    return JavaRecords(lambda question: _wire(ask(question)))


def _readable(answer: Any) -> Any:
    if not isinstance(answer, list):
        return answer
    schemas: dict[str, int] = {}

    def shown(data: str | None) -> Any:
        content = from_base64(data)
        if content is None:
            return None
        try:
            text = content.decode()
        except UnicodeDecodeError:
            return content
        schema, payload, rest = text.partition(_PAYLOAD)
        if not payload or not schema.startswith(_SCHEMA):
            return text
        return [schemas.setdefault(schema, len(schemas)), rest]

    return {"records": [_mapped(one, shown) for one in answer], "schemas": list(schemas)}


def _wire(answer: Any) -> Any:
    if "records" not in answer:
        return answer
    schemas: list[str] = answer["schemas"]

    def hidden(data: Any) -> str | None:
        if isinstance(data, list):
            number, rest = data
            data = f"{schemas[number]}{_PAYLOAD}{rest}"
        return as_base64(data.encode() if isinstance(data, str) else data)

    return [_mapped(one, hidden) for one in answer["records"]]


def _mapped(one: Any, change: Callable[[Any], Any]) -> Any:
    if not isinstance(one, dict) or "error" in one:
        return one
    changed = {name: change(value) if name in _DATA else value for name, value in one.items()}
    if "headers" in one:
        changed["headers"] = [[name, change(value)] for name, value in one["headers"]]
    return changed

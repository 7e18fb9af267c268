"""Bodies of many values, which Python reads while no other thread runs."""

import gc
from collections.abc import Callable
from typing import Any

import pytest

from connect_dagster.rest import documents
from connect_dagster.rest.documents import (
    UnreadableRequest,
    read_config,
    read_create_request,
    read_offsets,
    read_task_configs,
)


def test_python_looks_for_no_cycles_while_a_body_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Failed: 160,000 empty arrays kept an operator waiting for a second, as all objects were looked at again."""
    states: list[bool] = []
    parse = documents._parse

    def noted(body: bytes, *, numbers_as_text: bool) -> Any:
        states.append(gc.isenabled())
        return parse(body, numbers_as_text=numbers_as_text)

    monkeypatch.setattr(documents, "_parse", noted)
    with pytest.raises(UnreadableRequest):
        read_config(b"[[],[]]")
    assert states == [False]
    assert gc.isenabled()


_ENTITIES = "org.apache.kafka.connect.runtime.rest.entities"
_TEXTS = "java.util.LinkedHashMap<java.lang.String,java.lang.String>"


@pytest.mark.parametrize(
    ("read", "body", "said"),
    [
        (
            read_config,
            b'{"a": tru, "b": 1}',
            "The request body is not valid JSON: Expecting value: line 1 column 7 (char 6)",
        ),
        (
            read_config,
            b"1.5",
            f"Cannot deserialize value of type `{_TEXTS}` from Floating-point value (token "
            "`JsonToken.VALUE_NUMBER_FLOAT`)\n at the body: expected an object, got a number",
        ),
        (
            read_config,
            b'"text"',
            "Cannot construct instance of `java.util.LinkedHashMap` (although at least one Creator exists): no "
            "String-argument constructor/factory method to deserialize from String value ('text')\n at the body: "
            "expected an object, got a string",
        ),
        (
            read_create_request,
            b"false",
            f"Cannot construct instance of `{_ENTITIES}.CreateConnectorRequest` (although at least one Creator exists):"
            " no boolean/Boolean-argument constructor/factory method to deserialize from boolean value (false)\n at "
            "the body: expected an object, got a boolean",
        ),
        (
            read_create_request,
            b'{"initial_state": {}}',
            f"Cannot deserialize value of type `{_ENTITIES}.CreateConnectorRequest$InitialState` from Object value "
            "(token `JsonToken.START_OBJECT`)\n at initial_state: expected a string, got an object",
        ),
        (read_task_configs, b"[null]", "Cannot read 0: expected an object, got null"),
        # As Jackson, which stops at the first value that does not fit, before it meets what is not JSON.
        (
            read_offsets,
            b'{"offsets": [{"partition": []]}]}',
            "Cannot deserialize value of type `java.util.LinkedHashMap<java.lang.String,java.lang.Object>` from Array "
            "value (token `JsonToken.START_ARRAY`)\n at offsets.0.partition: expected an object, got an array",
        ),
        (
            read_config,
            b'{"a": [1], "b": "\xed\xa0\x80 [", ?',
            "Cannot deserialize value of type `java.lang.String` from Array value (token `JsonToken.START_ARRAY`)\n at "
            "a: expected a string, got an array",
        ),
    ],
)
def test_a_value_that_does_not_fit_is_named_in_jacksons_words(
    read: Callable[[bytes], object], body: bytes, said: str
) -> None:
    with pytest.raises(UnreadableRequest) as raised:
        read(body)
    assert str(raised.value) == said


def test_numbers_stay_as_they_were_sent_and_become_plain_texts() -> None:
    read = read_config(b'{"a": 1.50, "b": -0, "c": 1e3, "d": true, "e": null}')
    assert read == {"a": "1.50", "b": "-0", "c": "1e3", "d": "true", "e": None}
    assert {type(value) for value in read.values()} == {str, type(None)}

"""Bodies of many values, which Python reads while no other thread runs."""

import gc
from typing import Any

import pytest

from connect_dagster.rest import documents
from connect_dagster.rest.documents import UnreadableRequest, read_config


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

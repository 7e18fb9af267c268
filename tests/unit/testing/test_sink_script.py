"""The little language of the recording sink."""

from typing import Any, cast

import pytest

from connect_dagster.testing.sink_script import entry, perform


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("", ["", "", ""]),
        ("ok; fail", ["ok", "fail", ""]),
        ("ok; retry 5 *", ["ok", "retry 5", "retry 5"]),
        ("pause 1, retry 5; ok", ["pause 1, retry 5", "ok", ""]),
    ],
)
def test_an_entry_for_each_call(script: str, said: list[str]) -> None:
    assert [entry(script, call) for call in range(3)] == said


def test_an_unknown_word_is_named() -> None:
    with pytest.raises(ValueError, match="unknown action 'explode'"):
        perform("ok, explode now", cast("Any", None))


def test_a_failure_has_its_text() -> None:
    with pytest.raises(ValueError, match="no such row"):
        perform("fail no such row", cast("Any", None))

"""JSON read as Jackson reads it; what is written is shown by the records of the internal topics."""

import pytest

from connect_dagster.java.jackson import from_json


@pytest.mark.parametrize("text", ["[" * 500 + "]" * 500, '{"a":' * 500 + "1" + "}" * 500, "[" + "[]," * 900 + "[]]"])
def test_nesting_is_read_up_to_a_limit(text: str) -> None:
    assert from_json(text.encode())


@pytest.mark.parametrize("text", ["[" * 501 + "]" * 501, '{"a":' * 501 + "1" + "}" * 501, "[" * 1_000_000])
def test_deeper_nesting_is_refused(text: str) -> None:
    """Failed: a RecursionError, which callers that expect a ValueError let pass."""
    with pytest.raises(ValueError, match="nested deeper than 500 levels"):
        from_json(text.encode())


@pytest.mark.parametrize("quoted", ["[" * 1000, '\\"' * 5 + "{" * 1000, "\\\\", "[{" * 600 + "\\\\"])
def test_brackets_in_texts_are_not_nesting(quoted: str) -> None:
    assert from_json(f'["{quoted}", [{"[]," * 600}0]]'.encode())[0] == quoted.encode().decode("unicode_escape")


@pytest.mark.parametrize("text", ['"', "\\", '"\\' + "[" * 1000, '"a" "' * 300_000 + "[" * 501])
def test_texts_without_end_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"\S"):
        from_json(text.encode())

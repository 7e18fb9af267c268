"""Connector files: three shapes, and what is said when a file has none of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from connect_dagster.errors import ConnectError
from connect_dagster.plugin.connector_file import ConnectorFile, DesiredState, read_connector_file

CONFIG: dict[str, str | None] = {"name": "c", "connector.class": "FileStreamSource", "tasks.max": "1", "topic": "t"}
SHAPES = {
    "properties": "name=c\nconnector.class=FileStreamSource\ntasks.max=1\ntopic=t\n",
    "flat": '{"name": "c", "connector.class": "FileStreamSource", "tasks.max": 1, "topic": "t"}',
    "request": '\n{"name": "c", "config": {"connector.class": "FileStreamSource", "tasks.max": "1", "topic": "t"}}',
    "request with both names": (
        '{"name": "c", "config": '
        '{"name": "c", "connector.class": "FileStreamSource", "tasks.max": "1", "topic": "t"}, "more": 1}'
    ),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "connector"


@pytest.mark.parametrize("shape", SHAPES)
def test_s1_15_a_file_has_one_of_three_shapes(path: Path, shape: str) -> None:
    path.write_text(SHAPES[shape])
    assert read_connector_file(path) == ConnectorFile("c", CONFIG)


@pytest.mark.parametrize(
    ("given", "state"),
    [
        ('"RUNNING"', DesiredState.RUNNING),
        ('"paused"', DesiredState.PAUSED),
        ('"Stopped"', DesiredState.STOPPED),
        ("null", None),
    ],
)
def test_a_request_may_name_the_initial_state(path: Path, given: str, state: DesiredState | None) -> None:
    path.write_text(f'{{"name": "c", "config": {{}}, "initial_state": {given}}}')
    assert read_connector_file(path).initial_state is state


def test_scalars_become_text_as_they_are_written(path: Path) -> None:
    path.write_text('{"name": "c", "a": true, "b": 1.50, "c": 1e3, "d": null, "e": "세"}')
    config = read_connector_file(path).config
    assert config == {"name": "c", "a": "true", "b": "1.50", "c": "1e3", "d": None, "e": "세"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("topic=t", "Connector configuration at '{}' is missing the mandatory 'name' configuration"),
        ('{"topic": "t"}', "Connector configuration at '{}' is missing the mandatory 'name' configuration"),
        ('{"config": {"a": 1}}', "Connector configuration at '{}' is missing the mandatory 'name' configuration"),
        (
            '{"name": "a", "config": {"name": "b"}}',
            "Connector name configuration in 'config' doesn't match the one specified in 'name' at '{}'",
        ),
        ('{"name": "c",\n "a" 1}', "{} is not valid JSON: Expecting ':' delimiter: line 2 column 6 (char 19)"),
        ('{"name": NaN}', "{} is not valid JSON: NaN is not a JSON value"),
        ("[1]", "{} must hold a JSON object, not an array"),
        (
            '{"name": "c", "a": {}}',
            "{} must hold a JSON object of strings, or one with 'name' and an object of strings as 'config'",
        ),
        (
            '{"name": "c", "config": {"a": []}}',
            "{} must hold a JSON object of strings, or one with 'name' and an object of strings as 'config'",
        ),
        (
            '{"name": "c", "config": {}, "initial_state": "GONE"}',
            "{}: initial_state must be one of RUNNING, PAUSED, STOPPED, but is 'GONE'",
        ),
    ],
)
def test_what_is_wrong_is_said_with_the_file(path: Path, text: str, message: str) -> None:
    path.write_text(text)
    with pytest.raises(ConnectError) as raised:
        read_connector_file(path)
    assert str(raised.value) == message.format(path)


def test_s1_19b_a_missing_file_is_named(path: Path) -> None:
    with pytest.raises(ConnectError) as raised:
        read_connector_file(path)
    assert str(raised.value) == f"Cannot read {path}: No such file or directory"

"""Offsets as a user lists them."""

import pytest
from click.testing import CliRunner

from connect_dagster.cli.topics.dead_letters import OFFSETS, dlq_command


@pytest.mark.parametrize(
    ("text", "chosen"),
    [("3", [3]), ("3,7-9", [3, 7, 8, 9]), (" 1 , 8- ", [1, 8, 9]), ("0-0", [0])],
)
def test_what_is_chosen(text: str, chosen: list[int]) -> None:
    offsets = OFFSETS.convert(text, None, None)
    assert [number for number in range(10) if number in offsets] == chosen


@pytest.mark.parametrize("text", ["", "a", "3-1", "1,,2", "-3"])
def test_what_is_no_list(text: str) -> None:
    ran = CliRunner().invoke(dlq_command, ["list", "t", "--offsets", text])
    assert ran.exit_code == 2
    assert f"{text!r} is not a list of offsets such as 3,7-9,20-" in ran.output


def test_a_topic_or_a_connector() -> None:
    for words in ([], ["t", "--connector", "c"]):
        ran = CliRunner().invoke(dlq_command, ["list", *words])
        assert ran.exit_code == 2
        assert "Name a TOPIC, or a connector with --connector." in ran.output

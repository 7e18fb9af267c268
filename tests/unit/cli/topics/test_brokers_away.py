"""Commands whose brokers do not respond."""

import pytest
from click.testing import CliRunner

from connect_dagster.cli.main import main
from connect_dagster.cli.topics import topic


@pytest.mark.parametrize(
    "words",
    [
        ["topic", "list"],
        ["topic", "read", "lines"],
        ["topic", "write", "lines"],
    ],
    ids=" ".join,
)
def test_the_exit_code_differs_from_that_of_a_failed_record(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic, "ANSWER_SECONDS", 0.2)
    ran = CliRunner().invoke(main, [words[0], "--bootstrap-server", "127.0.0.1:9", *words[1:]], input="x\n")
    assert ran.exit_code == 2
    assert ran.stderr.startswith("Error: No broker responded at 127.0.0.1:9 within ")

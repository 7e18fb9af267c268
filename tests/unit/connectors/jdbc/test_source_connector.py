import pytest

from connect_dagster.connectors.jdbc.source.connector import JdbcSourceConnector
from connect_dagster.errors import ConfigError

UNREADABLE = {"connection.url": "jdbc:mysql://h/d", "topic.prefix": "t-", "table.whitelist": "a", "mode": "sideways"}


@pytest.mark.parametrize(
    ("given", "logged"),
    [
        ({}, []),
        ({"max.buffer.size": "5"}, ["max.buffer.size"]),
        ({"poll.linger.ms": "5", "max.buffer.size": "5"}, ["max.buffer.size, poll.linger.ms"]),
    ],
)
def test_options_without_effect_are_logged_once(
    given: dict[str, str], logged: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(ConfigError, match="configuration mode"):
        JdbcSourceConnector().start({**UNREADABLE, **given})
    text = "These options have no effect, as single rows are not queued: "
    assert [one.getMessage() for one in caplog.records if "no effect" in one.getMessage()] == [
        text + names for names in logged
    ]

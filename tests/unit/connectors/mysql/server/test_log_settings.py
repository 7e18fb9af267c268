"""Settings of servers whose logs cannot be read."""

import pytest

from connect_dagster.connectors.mysql.server.log_settings import VARIABLES, check_log_settings
from connect_dagster.errors import ConnectError

GOOD = {"log_bin": "ON", "binlog_format": "ROW", "binlog_row_image": "FULL", "binlog_row_value_options": ""}


def test_settings_as_they_must_be() -> None:
    assert GOOD.keys() == set(VARIABLES)
    check_log_settings(GOOD)
    check_log_settings({"log_bin": "1", "binlog_format": "row"})  # MariaDB has not all of them


@pytest.mark.parametrize(
    ("variable", "value", "reason"),
    [
        ("log_bin", "OFF", "it writes no binary log. Its variable log_bin is 'OFF', it must be ON"),
        (
            "binlog_format",
            "MIXED",
            "Its variable binlog_format is 'MIXED', it must be ROW",
        ),
        ("binlog_row_image", "MINIMAL", "leaves out columns of rows. Its variable binlog_row_image is 'MINIMAL'"),
        ("binlog_row_value_options", "PARTIAL_JSON", "is 'PARTIAL_JSON', it must be empty"),
    ],
)
def test_settings_that_are_refused(variable: str, value: str, reason: str) -> None:
    with pytest.raises(ConnectError) as error:
        check_log_settings({**GOOD, variable: value})
    assert reason in str(error.value)

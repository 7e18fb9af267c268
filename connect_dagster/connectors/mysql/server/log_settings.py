"""Settings of a server without which its binary log has not all that records need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from connect_dagster.errors import ConnectError


@dataclass(frozen=True, slots=True)
class _Demand:
    """A variable of a server, and the values that it may have."""

    variable: str
    values: tuple[str, ...]
    reason: str
    default: str = ""


_DEMANDS = (
    _Demand("log_bin", ("ON", "1"), "it writes no binary log"),
    _Demand("binlog_format", ("ROW",), "its binary log has statements in place of rows"),
    _Demand("binlog_row_image", ("FULL",), "its binary log leaves out columns of rows", default="FULL"),
    _Demand("binlog_row_value_options", ("",), "its binary log has parts of JSON values alone"),
)
VARIABLES = tuple(demand.variable for demand in _DEMANDS)
"""The variables that decide."""


def check_log_settings(variables: Mapping[str, str]) -> None:
    """Check the global variables of a server.

    Args:
        variables: those of ``VARIABLES`` that it has.

    Raises:
        ConnectError: the first one with another value.
    """
    for demand in _DEMANDS:
        value = variables.get(demand.variable, demand.default)
        if value.upper() not in demand.values:
            needed = demand.values[0] or "empty"
            raise ConnectError(
                f"The server cannot be read: {demand.reason}. Its variable {demand.variable} is "
                f"{value or 'empty'!r}, it must be {needed}"
            )

"""What each snapshot mode does at a start, as Debezium's snapshotters and its check of the schema history."""

import re

import pytest

from connect_dagster.connectors.mysql.snapshot_modes import (
    MODES,
    Found,
    SnapshotMode,
    SnapshotPlan,
    Stored,
    When,
    decide,
)
from connect_dagster.errors import ConnectError

NOTHING, UNFINISHED, POSITION = Found(Stored.NOTHING), Found(Stored.UNFINISHED), Found(Stored.POSITION)
NO_HISTORY, NO_POSITION = Found(Stored.POSITION, history=False), Found(Stored.POSITION, missing="purged: 1-5")
ALL = {"nothing": NOTHING, "unfinished": UNFINISHED, "position": POSITION, "history": NO_HISTORY, "purged": NO_POSITION}

# Data, schema, stream from the snapshot (S) or the stored place (s); FAILED with the mode that helps.
ROWS: dict[str, dict[str, str]] = {
    "always": {
        "nothing": "d s S",
        "unfinished": "d s S",
        "position": "d s S",
        "history": "recovery",
        "purged": "when_needed",
    },
    "when_needed": {
        "nothing": "d s S",
        "unfinished": "d s S",
        "position": "s",
        "history": "s s",
        "purged": "d s S",
    },
    "initial": {
        "nothing": "d s S",
        "unfinished": "d s S",
        "position": "s",
        "history": "recovery",
        "purged": "when_needed",
    },
    "initial_only": {"nothing": "d s", "unfinished": "d s", "position": "", "history": "recovery", "purged": ""},
    "no_data": {"nothing": "s S", "unfinished": "s S", "position": "s", "history": "recovery", "purged": "when_needed"},
    "recovery": {
        "nothing": "initial",
        "unfinished": "s s",
        "position": "s s",
        "history": "s s",
        "purged": "when_needed",
    },
    "never": {"nothing": "s", "unfinished": "initial", "position": "s", "history": "recovery", "purged": "when_needed"},
}


def outcome(mode: str, found: Found) -> str:
    try:
        start = decide(MODES[SnapshotMode(mode)], found)
    except ConnectError as error:
        named: list[str] = re.findall(r"snapshot\.mode(?:=| to )(\w+)", str(error))
        return named[-1]
    stream = ("S" if start.from_snapshot else "s") if start.streams else ""
    return " ".join(filter(None, ("d" * start.data, "s" * start.schema, stream)))


@pytest.mark.parametrize("mode", list(ROWS))
@pytest.mark.parametrize("found", list(ALL))
def test_mode(mode: str, found: str) -> None:
    assert outcome(mode, ALL[found]) == ROWS[mode][found]


def test_every_mode_has_a_row() -> None:
    assert {mode.value for mode in MODES} == set(ROWS)
    assert set(SnapshotMode) - set(MODES) == {SnapshotMode.CONFIGURATION_BASED}


def test_by_switches() -> None:
    everything = SnapshotPlan(When.ALWAYS, When.ALWAYS, again_without_position=True)
    assert decide(everything, NO_POSITION).data
    nothing = SnapshotPlan(When.NEVER, When.NEVER, streams=False)
    assert decide(nothing, NOTHING) == decide(nothing, POSITION)
    with pytest.raises(ConnectError, match="was not finished"):
        decide(nothing, UNFINISHED)

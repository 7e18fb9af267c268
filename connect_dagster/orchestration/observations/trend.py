"""Trend between two polls of a connector: its rate, the age of its last commit, its restarts.

Java's REST API has none of these numbers, so they are computed from data of both workers, and kept in the sensor's
cursor.
"""

from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from connect_dagster.client.types import ConnectorStatus, State
from connect_dagster.orchestration.observations.snapshot import ConnectorSnapshot

DOWN = frozenset({State.FAILED, State.RESTARTING})


class ConnectorMark(BaseModel):
    """State of a connector at one poll, kept for the next.

    Attributes:
        polled_at: When it was, in epoch seconds, as all times here.
        offsets_version: Hash of the committed offsets; empty when there were none.
        moved_at: When a poll first saw these offsets.
        records: Records it had moved; None when the brokers did not respond.
        down: The connector and tasks that were FAILED or RESTARTING.
        restarts: How often one of them was seen to come back.
    """

    model_config = ConfigDict(frozen=True)

    polled_at: float
    offsets_version: str
    moved_at: float
    records: int | None
    down: frozenset[str]
    restarts: int

    @classmethod
    def of(cls, snapshot: ConnectorSnapshot, now: float, last: "ConnectorMark | None") -> "ConnectorMark":
        """Return the mark of a poll.

        Args:
            snapshot: What it saw.
            now: When it was.
            last: The mark of the poll before; None for the first.
        """
        if last is None:
            last = cls(polled_at=now, offsets_version="", moved_at=now, records=None, down=frozenset(), restarts=0)
        version = last.offsets_version if snapshot.offsets is None else snapshot.offsets_version
        down = _parts_in(snapshot.connector.status, DOWN)
        back = last.down & _parts_in(snapshot.connector.status, frozenset({State.RUNNING, State.PAUSED}))
        return cls(
            polled_at=now,
            offsets_version=version,
            moved_at=last.moved_at if version == last.offsets_version else now,
            records=snapshot.records,
            down=down,
            restarts=last.restarts + len(back),
        )


@dataclass(frozen=True, slots=True)
class ConnectorTrend:
    """Rate, commit age and restarts of a connector.

    Attributes:
        records_per_second: Records moved between two polls; None for the first, or when the brokers did not respond.
        commit_age_seconds: Since the committed offsets last changed, as far as polls saw.
        restarts_total: How often the connector or a task was seen to come back from FAILED or RESTARTING.
    """

    records_per_second: float | None
    commit_age_seconds: float
    restarts_total: int

    @classmethod
    def between(cls, last: ConnectorMark | None, mark: ConnectorMark) -> "ConnectorTrend":
        """Return the trend from one poll to the next; ``last`` is None for the first."""
        return cls(_rate(last, mark), mark.polled_at - mark.moved_at, mark.restarts)


def _rate(last: ConnectorMark | None, mark: ConnectorMark) -> float | None:
    if last is None or last.records is None or mark.records is None or mark.polled_at <= last.polled_at:
        return None
    # Fewer than before: offsets were reset, or a topic deleted.
    return max(0, mark.records - last.records) / (mark.polled_at - last.polled_at)


def _parts_in(status: ConnectorStatus, states: frozenset[State]) -> frozenset[str]:
    tasks = {f"task {task.id}" for task in status.tasks if task.state in states}
    return frozenset(tasks | ({"connector"} if status.connector.state in states else set()))

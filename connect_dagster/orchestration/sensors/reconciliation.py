"""Rules of a connector's sensor, from an observation to a decision, without cluster, clock or Dagster.

The declaration is a configuration and a state. Keys of the configuration that differ are always changed. The sensor
moves the connector to the declared state until it was observed there; afterwards a connector that is RUNNING, PAUSED
or STOPPED against its declaration was moved by a user and keeps that state, also when its configuration changes. A
changed declaration of the state applies again. A connector that is missing, as after the loss of a standalone worker,
is created again in its last state; to delete it, remove it from the code.

FAILED parts are restarted in a connector whose target state is RUNNING, unless that is switched off; nothing else is
restarted.

A configuration that another writer changes back after each correction is left to that writer after some of them, until
the declaration changes or the writer sets something new. A connector that is missing is created again every time: a
standalone worker loses its connectors when it restarts.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from pydantic import ConfigDict

from connect_dagster.client.config_diff import ConfigDiff
from connect_dagster.client.operations import target_state_of
from connect_dagster.client.types import Connector, State
from connect_dagster.orchestration.sensors.attempts import AttemptPolicy, Attempts, Contest, Decision
from connect_dagster.orchestration.sensors.cursor import SensorCursor
from connect_dagster.plugin.connector_file import DesiredState

Config = Mapping[str, str | None]


class Drift(Enum):
    """Difference between a connector and its declaration."""

    MISSING = "it is missing"
    CONFIG = "its configuration differs from the declared one"
    STATE = "it has not been in its declared state yet"
    FAILED = "it or a task of it FAILED"


class ConnectorSensorCursor(SensorCursor):
    """Cursor of the sensor.

    Attributes:
        state: The declared state at the last tick; None at first.
        version: Hash of the declared configuration at the last tick.
        reached: Whether the connector was seen in that state since it was declared.
        persons_state: The state that a user has moved it to since; None in the declared state.
        corrections: Attempts at applying its declaration.
        contest: Changes of its configuration after it was corrected.
        restarts: Attempts at restarting FAILED parts.
        launches: Number of the last run that was launched.
    """

    model_config = ConfigDict(frozen=True)

    state: DesiredState | None = None
    version: str = ""
    reached: bool = False
    persons_state: DesiredState | None = None
    corrections: Attempts = Attempts()
    contest: Contest = Contest()
    restarts: Attempts = Attempts()
    launches: int = 0

    def declaring(self, state: DesiredState, config: Config) -> "ConnectorSensorCursor":
        """Return the cursor under a declaration; a changed declaration resets the attempts."""
        version = _version(config)
        if (state, version) == (self.state, self.version):
            return self
        fresh = ConnectorSensorCursor(state=state, version=version, launches=self.launches)
        if state is not self.state:
            return fresh
        return fresh.model_copy(update={"reached": self.reached, "persons_state": self.persons_state})


@dataclass(frozen=True, slots=True)
class Observation:
    """One observation of a connector.

    Attributes:
        state: Its declared state.
        config: Its declared configuration.
        live: The connector in the cluster; None when it does not exist.
        cursor: The cursor under this declaration.
    """

    state: DesiredState
    config: Config
    live: Connector | None
    cursor: ConnectorSensorCursor

    @property
    def is_there(self) -> bool:
        """Return True if the connector is in its declared state, regardless of its tasks."""
        return self.live is not None and self.live.status.connector.state is State(self.state.value)

    @property
    def moved_by_person(self) -> bool:
        """Return True if a user paused, stopped or resumed it against the declaration."""
        return self.cursor.reached and self._is_elsewhere

    @property
    def persons_state(self) -> DesiredState | None:
        """Return the state that a user chose; None for the declared one."""
        if self.live is not None and self.moved_by_person:
            return target_state_of(self.live.status)
        return None if self.is_there else self.cursor.persons_state

    @property
    def config_version(self) -> str:
        """Return a hash of the live configuration."""
        return _version(self.live.info.config) if self.live else ""

    @property
    def changed_keys(self) -> list[str]:
        """Return the keys of the configuration that differ from the declaration."""
        live = {**self.live.info.config, "name": self.live.name} if self.live else None
        return ConfigDiff(live, self.config).changed_keys

    @property
    def _is_elsewhere(self) -> bool:
        settled = (State.RUNNING, State.PAUSED, State.STOPPED)
        return self.live is not None and self.live.status.connector.state in settled and not self.is_there

    @property
    def drift(self) -> Drift | None:
        """Return the most serious difference from the declaration; None without one."""
        if self.live is None:
            return Drift.MISSING
        if self.changed_keys:
            return Drift.CONFIG
        if self._is_elsewhere and not self.cursor.reached:
            return Drift.STATE
        is_to_run = target_state_of(self.live.status) is DesiredState.RUNNING
        return Drift.FAILED if self.live.status.has_failed and is_to_run else None

    def message(self) -> str:
        """Return the state of the connector as a sentence."""
        if self.live is None:
            return "The cluster does not have it"
        summary = self.live.status.summary()
        if self.moved_by_person:
            return f"{summary}: changed by a user and kept, though {self.state} is declared"
        return f"{summary}, as declared" if self.drift is None else summary


@dataclass(frozen=True, slots=True)
class Reconciliation:
    """Result of an observation.

    Attributes:
        drift: The difference from the declaration; None without one.
        decision: The next action.
        cursor: The next cursor.
    """

    drift: Drift | None
    decision: Decision
    cursor: ConnectorSensorCursor

    @property
    def is_contested(self) -> bool:
        """Return True if the sensor has given up its configuration to another writer."""
        return self.drift is Drift.CONFIG and self.cursor.contest.lost


def reconcile(
    observation: Observation, policy: AttemptPolicy, now: float, *, restart_failed: bool = True
) -> Reconciliation:
    """Return the decision about a connector.

    Args:
        observation: Of the connector.
        policy: Attempts and delays, for corrections and restarts each.
        now: Epoch seconds.
        restart_failed: Whether FAILED parts are restarted.
    """
    cursor, drift = observation.cursor, observation.drift
    contest = _contest(observation, policy.most, now)
    # A correction that was observed has worked; the next one, as after a worker's loss, counts from 0.
    decision, corrections, restarts = Decision.NOTHING, Attempts(), cursor.restarts
    if drift is None:
        restarts = policy.when_healthy(restarts, now)
    elif drift is Drift.FAILED and not restart_failed:
        restarts = Attempts()
    elif drift is Drift.FAILED:
        decision, restarts = policy.when_unhealthy(restarts, now)
    elif drift is Drift.CONFIG and contest.lost:
        decision = Decision.GIVEN_UP if cursor.contest.lost else Decision.GIVE_UP
    else:
        decision, corrections = policy.when_unhealthy(_corrections(observation), now)
    update = {
        "contest": contest,
        "reached": cursor.reached or observation.is_there,
        "persons_state": observation.persons_state,
        "corrections": corrections,
        "restarts": restarts,
    }
    return Reconciliation(drift, decision, cursor.model_copy(update=update))


def _corrections(observation: Observation) -> Attempts:
    """Return the attempts at corrections so far; those that were given up count no more for a new configuration."""
    cursor = observation.cursor
    is_new = observation.drift is Drift.CONFIG and observation.config_version not in cursor.contest.values
    return Attempts() if is_new and cursor.corrections.gave_up else cursor.corrections


def _contest(observation: Observation, most: int, now: float) -> Contest:
    """Return the contest after an observation; a missing connector, and its state, are not a part of it."""
    before = observation.cursor.contest
    if observation.drift in (None, Drift.FAILED):
        return before.as_declared(now)
    if observation.drift is Drift.CONFIG:
        return before.changed(observation.config_version, most, now)
    return before


def _version(config: Config) -> str:
    return hashlib.sha256(json.dumps(dict(config), sort_keys=True).encode()).hexdigest()[:16]

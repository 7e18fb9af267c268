"""The sensor that restarts FAILED connectors and tasks of a cluster, declared or not.

It does not touch PAUSED and STOPPED connectors, whose state a user chose. One run restarts all connectors that fail at
the same time.
"""

import time
from collections.abc import Mapping, Sequence

import dagster as dg
from dagster import AssetObservation
from pydantic import Field

from connect_dagster.client.operations import target_state_of
from connect_dagster.client.plugin_secrets import with_secret_keys
from connect_dagster.client.rest_client import KafkaConnectError
from connect_dagster.client.types import Connector
from connect_dagster.orchestration.assets.keys import identifier
from connect_dagster.orchestration.assets.specs import ConnectorSelectorFn
from connect_dagster.orchestration.assets.translator import DagsterKafkaConnectTranslator
from connect_dagster.orchestration.assets.workspace_data import live_props
from connect_dagster.orchestration.failures import listed
from connect_dagster.orchestration.ops.config import RestartSelection
from connect_dagster.orchestration.ops.jobs import CLUSTER_TAG
from connect_dagster.orchestration.sensors.attempts import AttemptPolicy, Attempts, BackOff, Decision
from connect_dagster.orchestration.sensors.connector import (
    REQUEST_TIMEOUT,
    RESTART_OP,
    RESTARTS,
    given_up,
    job_with,
)
from connect_dagster.orchestration.sensors.cursor import SensorCursor
from connect_dagster.orchestration.sensors.run_history import RunHistory
from connect_dagster.orchestration.workspace import KafkaConnectWorkspace
from connect_dagster.plugin.connector_file import DesiredState

AUTO_RESTART_TAG = "connect-dagster/auto_restart"


class AutoRestartCursor(SensorCursor):
    """Cursor of the sensor.

    Attributes:
        connectors: Attempts at restarting connectors that failed lately, by name.
        launches: Number of the last run that was asked for.
    """

    connectors: dict[str, Attempts] = Field(default={})
    launches: int = 0


def build_kafka_connect_auto_restart_sensor(
    *,
    workspace: KafkaConnectWorkspace,
    jobs: Sequence[dg.JobDefinition],
    connector_selector_fn: ConnectorSelectorFn | None = None,
    max_restarts: int = 5,
    back_off: BackOff = RESTARTS,
    minimum_interval_seconds: int = 30,
    default_status: dg.DefaultSensorStatus = dg.DefaultSensorStatus.RUNNING,
    dagster_kafka_connect_translator: DagsterKafkaConnectTranslator | None = None,
) -> dg.SensorDefinition:
    """Create the sensor ``kafka_connect_<cluster>__auto_restart_sensor``, which restarts FAILED connectors and tasks.

    Leave out connectors that have their own sensor (:func:`build_connector_sensor`), as both would restart them.

    Args:
        workspace (KafkaConnectWorkspace): The Connect cluster.
        jobs (Sequence[JobDefinition]): The jobs of :func:`build_kafka_connect_jobs` for this cluster.
        connector_selector_fn (Optional[ConnectorSelectorFn]): Selects the connectors to restart. Defaults to all.
        max_restarts (int): Attempts in a row before it gives up on a connector, with one observation of its asset.
        back_off (BackOff): Seconds between attempts. Defaults to 30 s, doubled up to 10 min, and a new count after
            10 min without failure.
        minimum_interval_seconds (int): Seconds between two ticks. Defaults to 30.
        default_status (DefaultSensorStatus): Whether it runs at first. Defaults to RUNNING.
        dagster_kafka_connect_translator (Optional[DagsterKafkaConnectTranslator]): Gives the keys of the connectors'
            assets; the one their definitions are made with.

    Returns:
        SensorDefinition: The sensor.

    Examples:
        .. code-block:: python

            import dagster as dg
            from connect_dagster.orchestration import (
                KafkaConnectWorkspace,
                build_kafka_connect_auto_restart_sensor,
                build_kafka_connect_jobs,
            )

            workspace = KafkaConnectWorkspace()
            jobs = build_kafka_connect_jobs(workspace=workspace)
            sensor = build_kafka_connect_auto_restart_sensor(workspace=workspace, jobs=jobs)
            defs = dg.Definitions(jobs=jobs, sensors=[sensor])
    """
    restart_job = job_with(RESTART_OP, jobs)
    policy = AttemptPolicy(max_restarts, back_off)
    translator = dagster_kafka_connect_translator or DagsterKafkaConnectTranslator()

    @dg.sensor(
        name=f"kafka_connect_{identifier(workspace.cluster)}__auto_restart_sensor",
        job=restart_job,
        minimum_interval_seconds=minimum_interval_seconds,
        default_status=default_status,
        description="Restarts connectors and tasks that FAILED, and gives up on those that fail again and again.",
    )
    def auto_restart_sensor(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        try:
            with workspace.initialized() as ready:
                client = ready.get_client(timeout=REQUEST_TIMEOUT, retries=0)
                found = client.connectors()
                # Traces of connectors given up may quote keys that only the plugin defines as secret.
                found |= with_secret_keys(client, {name: one for name, one in found.items() if one.status.traces()})
                props = {name: live_props(ready, connector) for name, connector in found.items()}
        except KafkaConnectError as error:
            return dg.SkipReason(str(error))
        chosen = {
            name: found[name]
            for name, one in props.items()
            if connector_selector_fn is None or connector_selector_fn(one)
        }
        cursor = AutoRestartCursor.read(context.cursor)
        now = time.time()
        history = RunHistory(context.instance, {CLUSTER_TAG: workspace.cluster, AUTO_RESTART_TAG: "true"}, now)
        if run := history.under_way:
            return dg.SkipReason(f"Run {run} is in progress")
        tick = RestartTick(cursor.connectors, policy, now)
        for name, connector in chosen.items():
            tick.observe(name, connector)
        events = [
            tick.event(translator.get_asset_spec(props[name]).key, chosen[name])
            for name in tick.names_at(Decision.GIVE_UP)
        ]
        for event in events:
            context.log.error(str(event.description))
        due = tick.names_at(Decision.TRY)
        number = history.next_number(cursor.launches) if due else cursor.launches
        return dg.SensorResult(
            run_requests=[
                dg.RunRequest(
                    f"{workspace.cluster}:{number}",
                    run_config=dg.RunConfig(ops={RESTART_OP: RestartSelection(connectors=due)}),
                    tags=history.tags(number),
                )
            ]
            if due
            else None,
            skip_reason=None if due else tick.message(len(chosen)),
            asset_events=events,
            cursor=AutoRestartCursor(connectors=tick.remembered, launches=number).model_dump_json(),
        )

    return auto_restart_sensor


class RestartTick:
    """One tick: the decision about each connector that fails, and the attempts kept for the next tick.

    Args:
        known: Attempts by connector, from the cursor.
        policy: Number of restarts, and the delays between them.
        now: Epoch seconds.
    """

    def __init__(self, known: Mapping[str, Attempts], policy: AttemptPolicy, now: float) -> None:
        self._known = known
        self._policy = policy
        self._now = now
        self._decisions: dict[str, Decision] = {}
        self.remembered: dict[str, Attempts] = {}

    def observe(self, name: str, connector: Connector) -> None:
        """Decide about a connector."""
        attempts = self._known.get(name, Attempts())
        if connector.status.has_failed and target_state_of(connector.status) is DesiredState.RUNNING:
            self._decisions[name], attempts = self._policy.when_unhealthy(attempts, self._now)
        else:
            attempts = self._policy.when_healthy(attempts, self._now)
        if attempts != Attempts():
            self.remembered[name] = attempts

    def names_at(self, decision: Decision) -> list[str]:
        """Return the connectors with this decision."""
        return [name for name, due in self._decisions.items() if due is decision]

    def event(self, key: dg.AssetKey, connector: Connector) -> AssetObservation:
        """Return the event of a connector that is given up."""
        message = f"Gave up on connector '{connector.name}' after {self._policy.most} restarts: it FAILED again"
        return given_up(key, connector, message, self._policy.most)

    def message(self, looked_at: int) -> str:
        """Return the summary of a tick that launches nothing."""
        parts = {
            "waiting for the effect of restarts of": self.names_at(Decision.WAIT),
            "given up on": [*self.names_at(Decision.GIVE_UP), *self.names_at(Decision.GIVEN_UP)],
        }
        sentences = [f"{what} {listed(names)}" for what, names in parts.items() if names]
        return f"Looked at {looked_at} connectors: {'; '.join(sentences) or 'none FAILED'}"

"""The sensor of one declared connector: it compares the connector with its declaration, and launches runs.

The rules are in :mod:`connect_dagster.orchestration.sensors.reconciliation`. The sensor itself changes nothing: it
launches runs of the jobs ``apply`` and ``restart``, so every change is visible among the runs.
"""

import time
from collections.abc import Mapping, Sequence
from typing import Any

import dagster as dg
from dagster import AssetObservation

from connect_dagster.client.plugin_secrets import with_secret_keys
from connect_dagster.client.rest_client import KafkaConnectClient, KafkaConnectError
from connect_dagster.client.types import Connector
from connect_dagster.orchestration.assets.keys import identifier
from connect_dagster.orchestration.assets.specs import declared_props
from connect_dagster.orchestration.assets.translator import DagsterKafkaConnectTranslator
from connect_dagster.orchestration.connectors.spec import KafkaConnectConnectorSpec
from connect_dagster.orchestration.failures import listed
from connect_dagster.orchestration.observations.metadata import status_metadata
from connect_dagster.orchestration.ops.config import ApplySelection, RestartSelection
from connect_dagster.orchestration.ops.jobs import CLUSTER_TAG
from connect_dagster.orchestration.sensors.attempts import AttemptPolicy, BackOff, Decision
from connect_dagster.orchestration.sensors.reconciliation import (
    ConnectorSensorCursor,
    Drift,
    Observation,
    Reconciliation,
    reconcile,
)
from connect_dagster.orchestration.sensors.run_history import RunHistory
from connect_dagster.orchestration.workspace import KafkaConnectWorkspace

CONNECTOR_TAG = "connect-dagster/connector"
APPLY_OP, RESTART_OP = "kafka_connect_apply_op", "kafka_connect_restart_op"
# Three requests, so a tick is over long before its 60 s.
REQUEST_TIMEOUT = 5.0
RESTARTS = BackOff(base=30.0, cap=600.0, settled=600.0)


def build_connector_sensor(
    *,
    workspace: KafkaConnectWorkspace,
    spec: KafkaConnectConnectorSpec,
    jobs: Sequence[dg.JobDefinition],
    max_attempts: int = 5,
    back_off: BackOff = RESTARTS,
    restart_failed: bool = True,
    minimum_interval_seconds: int = 30,
    default_status: dg.DefaultSensorStatus = dg.DefaultSensorStatus.RUNNING,
    dagster_kafka_connect_translator: DagsterKafkaConnectTranslator | None = None,
) -> dg.SensorDefinition:
    """Create the sensor ``kafka_connect_<cluster>__<connector>_sensor``, which keeps a connector as it is declared.

    It creates the connector when it is missing, changes its configuration when it differs, brings it to its declared
    state, and restarts FAILED parts only, with a growing delay; after the last one it gives up with one
    observation on the connector's asset. The count resets once a correction is seen, when nothing FAILED for a
    while, and with another declaration.

    Another writer of its configuration, such as a second Dagster or a Terraform, would change it back again and again.
    After ``max_attempts`` corrections within a day that were changed back, the sensor gives up with one observation,
    until the declaration changes, the other writer sets something new, or the cursor is reset.

    A connector that was once in its declared state and is then PAUSED, STOPPED or RUNNING instead was moved by a
    person, and keeps that state until another one is declared. Its configuration is kept up to date, and
    when a worker has lost it, it is created again in the state of that person. The sensor's cursor has this state;
    a reset of the cursor applies the declared state again.

    Args:
        workspace (KafkaConnectWorkspace): The Connect cluster.
        spec (KafkaConnectConnectorSpec): The declared connector.
        jobs (Sequence[JobDefinition]): The jobs of :func:`build_kafka_connect_jobs` for this cluster and connector.
        max_attempts (int): Attempts in a row at a correction, or a restart, before the sensor gives up.
        back_off (BackOff): Seconds between attempts. Defaults to 30 s, doubled up to 10 min; the count resets after
            10 min without failure.
        restart_failed (bool): Whether FAILED parts are restarted. Defaults to True.
        minimum_interval_seconds (int): Seconds between two ticks. Defaults to 30.
        default_status (DefaultSensorStatus): Whether it runs at first. Defaults to RUNNING.
        dagster_kafka_connect_translator (Optional[DagsterKafkaConnectTranslator]): Gives the key of the connector's
            asset; the one its definition is made with.

    Returns:
        SensorDefinition: The sensor.

    Examples:
        .. code-block:: python

            import dagster as dg
            from connect_dagster.orchestration import (
                KafkaConnectConnectorSpec,
                KafkaConnectWorkspace,
                build_connector_sensor,
                build_kafka_connect_jobs,
            )

            workspace = KafkaConnectWorkspace()
            lines = KafkaConnectConnectorSpec("lines", "FileStreamSource", {"file": "/tmp/in.txt", "topic": "lines"})
            jobs = build_kafka_connect_jobs(workspace=workspace, connectors=[lines])
            sensor = build_connector_sensor(workspace=workspace, spec=lines, jobs=jobs)
            defs = dg.Definitions(jobs=jobs, sensors=[sensor])
    """
    apply_job, restart_job = job_with(APPLY_OP, jobs), job_with(RESTART_OP, jobs)
    policy = AttemptPolicy(max_attempts, back_off)
    restarts = ", and restarts FAILED parts" if restart_failed else ""
    translator = dagster_kafka_connect_translator or DagsterKafkaConnectTranslator()
    key = translator.get_asset_spec(declared_props(workspace, spec)).key

    @dg.sensor(
        name=f"kafka_connect_{identifier(workspace.cluster)}__{identifier(spec.name)}_sensor",
        jobs=[apply_job, restart_job],
        minimum_interval_seconds=minimum_interval_seconds,
        default_status=default_status,
        description=f"Keeps connector `{spec.name}` as it is declared{restarts}.",
    )
    def connector_sensor(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        try:
            config = spec.resolved_config()
            with workspace.initialized() as ready:
                live = fetch_connector(ready.get_client(timeout=REQUEST_TIMEOUT, retries=0), spec.name)
        except KafkaConnectError as error:
            return dg.SkipReason(str(error))
        except dg.Failure as failure:
            return dg.SkipReason(str(failure.description))
        now = time.time()
        cursor = ConnectorSensorCursor.read(context.cursor).declaring(spec.state, config)
        observation = Observation(spec.state, config, live, cursor)
        tags = {CLUSTER_TAG: workspace.cluster, CONNECTOR_TAG: spec.name}
        outcome = reconcile(observation, policy, now, restart_failed=restart_failed)
        if outcome.decision is Decision.NOTHING:
            why = "" if outcome.drift is None else f"; {_why(outcome)}, and is not restarted by this sensor"
            return _result(outcome.cursor, skip_reason=f"{observation.message()}{why}")
        history = RunHistory(context.instance, tags, now)
        if run := history.under_way:
            return _result(cursor, skip_reason=f"{observation.message()}; run {run} is in progress")
        if outcome.decision is Decision.TRY:
            number = history.next_number(cursor.launches)
            job = restart_job if outcome.drift is Drift.FAILED else apply_job
            request = dg.RunRequest(
                f"{workspace.cluster}/{spec.name}:{number}",
                run_config=_run_config(outcome, observation),
                job_name=job.name,
                tags=history.tags(number),
            )
            context.log.info(
                f"Connector '{spec.name}': {observation.message()}; {_why(outcome)}, so {job.name} is launched"
            )
            return _result(outcome.cursor.model_copy(update={"launches": number}), run_requests=[request])
        if outcome.decision is Decision.GIVE_UP:
            message = f"Gave up on connector '{spec.name}' after {_tried(outcome, observation, max_attempts)}"
            context.log.error(message)
            return _result(
                outcome.cursor, asset_events=[given_up(key, live, message, max_attempts)], skip_reason=message
            )
        return _result(outcome.cursor, skip_reason=f"{observation.message()}; {_waiting(outcome, policy)}")

    return connector_sensor


def job_with(op: str, jobs: Sequence[dg.JobDefinition]) -> dg.JobDefinition:
    """Return the job that consists of an op.

    Raises:
        DagsterInvalidDefinitionError: There is none.
    """
    for job in jobs:
        if job.graph.has_node_named(op):
            return job
    names = ", ".join(job.name for job in jobs) or "none"
    raise dg.DagsterInvalidDefinitionError(
        f"The sensor needs the job with the op {op}, which build_kafka_connect_jobs makes for declared connectors; "
        f"it was given: {names}"
    )


def fetch_connector(client: KafkaConnectClient, name: str) -> Connector | None:
    """Return a connector of the cluster; None when the cluster does not have it.

    One with a trace has the secret keys of its plugin, for the trace may quote them.

    Raises:
        KafkaConnectError: The request fails, or the worker has no status of the connector yet.
    """
    info = client.info(name)
    if info is None:
        return None
    found = Connector(info=info, status=client.status(name))
    return with_secret_keys(client, {name: found})[name] if found.status.traces() else found


def given_up(key: dg.AssetKey, live: Connector | None, message: str, attempts: int) -> AssetObservation:
    """Return the event of a sensor that gives up on a connector: states, masked traces, and the count."""
    metadata: Mapping[str, Any] = status_metadata(live) if live else {}
    return AssetObservation(key, description=message, metadata={**metadata, "gave_up": 1, "attempts": attempts})


def _run_config(outcome: Reconciliation, observation: Observation) -> dg.RunConfig:
    name = observation.config["name"] or ""
    if outcome.drift is Drift.FAILED:
        return dg.RunConfig(ops={RESTART_OP: RestartSelection(connectors=[name])})
    return dg.RunConfig(ops={APPLY_OP: ApplySelection(connectors=[name], state=observation.persons_state)})


def _tried(outcome: Reconciliation, observation: Observation, attempts: int) -> str:
    if not outcome.is_contested:
        return f"{attempts} attempts: {_why(outcome)}"
    return (
        f"{attempts} corrections within a day: another writer changed {listed(observation.changed_keys)} back each "
        "time. It is corrected again when its declaration changes, when that writer sets something new, or when the "
        "cursor of the sensor is reset"
    )


def _why(outcome: Reconciliation) -> str:
    return outcome.drift.value if outcome.drift else "all is well"


def _waiting(outcome: Reconciliation, policy: AttemptPolicy) -> str:
    if outcome.is_contested:
        return "given up, as another writer changes its configuration back after each correction"
    is_restart = outcome.drift is Drift.FAILED
    attempts = outcome.cursor.restarts if is_restart else outcome.cursor.corrections
    if attempts.gave_up:
        return f"given up after {attempts.count} attempts: {_why(outcome)}"
    return f"attempt {attempts.count} has until {time.ctime(policy.due(attempts))}: {_why(outcome)}"


def _result(cursor: ConnectorSensorCursor, **result: Any) -> dg.SensorResult:
    return dg.SensorResult(cursor=cursor.model_dump_json(), **result)

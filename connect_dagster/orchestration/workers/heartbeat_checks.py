"""Asset checks of workers: they were observed alive lately."""

import time
from collections.abc import Iterable, Sequence
from typing import Any

import dagster as dg
from dagster import AssetCheckResult, AssetCheckSeverity, DagsterInstance

from connect_dagster.orchestration.assets.keys import worker_key

LATEST = 10


def build_worker_heartbeat_checks(
    *, worker_ids: Iterable[str], max_age_seconds: float = 900.0
) -> Sequence[dg.AssetChecksDefinition]:
    """Create the check ``heartbeat`` of each worker's asset.

    It fails when by the last observation the worker has ended or its REST API did not respond, or when that is older
    than the bound; and it warns when the instance ends runs after some time (``run_monitoring.max_runtime_seconds``),
    and healthy workers with them. That of MirrorMaker's process fails when connectors or tasks of its flows FAILED too,
    and warns when their states cannot be read, or one has none: it has no REST API by which other checks would see it.

    Args:
        worker_ids (Iterable[str]): The workers' names in Dagster.
        max_age_seconds (float): Bound for the age of the last observation: a few report intervals. Defaults to 900.

    Returns:
        Sequence[AssetChecksDefinition]: One check for each worker.

    Examples:
        .. code-block:: python

            import dagster as dg

            from connect_dagster.orchestration import build_worker_asset_spec, build_worker_heartbeat_checks

            defs = dg.Definitions(
                assets=[build_worker_asset_spec("standalone")],
                asset_checks=build_worker_heartbeat_checks(worker_ids=["standalone"]),
            )
    """
    return [_check(worker_id, max_age_seconds) for worker_id in worker_ids]


def _check(worker_id: str, max_age: float) -> dg.AssetChecksDefinition:
    @dg.asset_check(
        asset=worker_key(worker_id),
        name="heartbeat",
        description=f"The worker was seen alive within {max_age:g} s.",
    )
    def heartbeat(context: dg.AssetCheckExecutionContext) -> AssetCheckResult:
        return heartbeat_result(context.instance, worker_id, max_age, time.time())

    return heartbeat


def heartbeat_result(instance: DagsterInstance, worker_id: str, max_age: float, now: float) -> AssetCheckResult:
    """Return the result of the check.

    Args:
        instance: Where the observations are.
        worker_id: The worker's name in Dagster.
        max_age: Bound for the age of the last observation, in seconds.
        now: Epoch seconds.
    """
    for record in instance.fetch_observations(worker_key(worker_id), limit=LATEST).records:
        observation = record.asset_observation
        last = {name: value.value for name, value in observation.metadata.items()} if observation else {}
        # The reason why a former run ended is reported later, maybe when a new one runs; it is not a heartbeat.
        if "worker_running" in last:
            return _judged(last, now - record.timestamp, max_age, instance.run_monitoring_max_runtime_seconds)
    return AssetCheckResult(passed=False, description="The worker was never seen.")


def _judged(last: dict[str, Any], age: float, max_age: float, max_runtime: int) -> AssetCheckResult:
    running = last.get("worker_running") == 1
    metadata = {"heartbeat_age_seconds": float(age), "worker_running": int(running)}
    if not running:
        how = last.get("exit") or "see its run"
        return AssetCheckResult(passed=False, description=f"The worker has ended: {how}.", metadata=metadata)
    if age > max_age:
        late = f"The worker was last seen {age:.0f} s ago; {max_age:g} s are allowed."
        return AssetCheckResult(passed=False, description=late, metadata=metadata)
    if last.get("rest_answering") == 0:
        deaf = f"The worker runs, but its REST API does not respond: {last.get('rest_error') or 'see its run'}."
        return AssetCheckResult(passed=False, description=deaf, metadata=metadata)
    # Connectors on a worker have checks.
    if "flow_count" in last and (failed := last.get("connectors_failed", 0) + last.get("tasks_failed", 0)):
        what = f"{failed} of {last.get('connector_count', 0) + last.get('task_count', 0)} connectors and tasks FAILED"
        return AssetCheckResult(
            passed=False, description=f"The process runs, but {what}: {last.get('error')}", metadata=metadata
        )
    if warning := _warning(last, max_runtime):
        return AssetCheckResult(passed=False, severity=AssetCheckSeverity.WARN, description=warning, metadata=metadata)
    return AssetCheckResult(passed=True, metadata=metadata)


def _warning(last: dict[str, Any], max_runtime: int) -> str | None:
    if missing := last.get("connectors_missing"):
        return f"The process runs, but these connectors have no state: {missing}; see its run's log."
    if unknown := last.get("flows_error"):
        return f"The process runs, but states of its flows are not known: {unknown}"
    if max_runtime:
        return (
            f"The instance ends runs after {max_runtime} s (run_monitoring.max_runtime_seconds), and with them this "
            "worker."
        )
    return None

"""The sensor that reports on a worker's asset why its run failed, also when the run could not report it."""

from typing import Any

import dagster as dg
from dagster import AssetObservation, DagsterInstance, MetadataValue

from connect_dagster.client.masking import mask_text
from connect_dagster.orchestration.assets.keys import worker_key
from connect_dagster.orchestration.workers.job import WORKER_ID_TAG


def build_connect_worker_failure_sensor(
    *, job: dg.JobDefinition, minimum_interval_seconds: int = 30
) -> dg.SensorDefinition:
    """Create the sensor ``connect_worker__failure_sensor``, named after the job.

    It observes the worker's asset for each failed run: the process id, the signal or exit code, the last lines of
    the worker's output where the run reported them, and the run.

    Args:
        job (JobDefinition): The workers' job, see :func:`build_connect_worker_job`.
        minimum_interval_seconds (int): Seconds between two looks for failed runs. Defaults to 30.

    Returns:
        SensorDefinition: The sensor; it runs unless it is switched off.
    """

    @dg.run_failure_sensor(
        name=f"{job.name}__failure_sensor",
        monitored_jobs=[job],
        minimum_interval_seconds=minimum_interval_seconds,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Shows on a worker's asset why its run failed.",
    )
    def connect_worker_failure_sensor(context: dg.RunFailureSensorContext) -> None:
        run = context.dagster_run
        observation = AssetObservation(worker_key(run.tags[WORKER_ID_TAG]), metadata=failure_metadata(context))
        context.instance.report_runless_asset_event(observation)

    return connect_worker_failure_sensor


def failure_metadata(context: dg.RunFailureSensorContext) -> dict[str, Any]:
    """Return the metadata of a failed run: its step's failure, and the worker's last observed process id."""
    reported: dict[str, Any] = {}
    for event in context.get_step_failure_events():
        failure = event.step_failure_data.user_failure_data
        reported |= failure.metadata if failure else {}
    run_id = context.dagster_run.run_id
    return {
        **_last_seen(context.instance, context.dagster_run.tags[WORKER_ID_TAG]),
        "error": mask_text(context.failure_event.message or ""),
        "run": MetadataValue.dagster_run(run_id),
        **reported,
    }


def _last_seen(instance: DagsterInstance, worker_id: str) -> dict[str, Any]:
    for record in instance.fetch_observations(worker_key(worker_id), limit=1).records:
        observation = record.asset_observation
        pid = observation.metadata.get("pid") if observation else None
        return {"pid": pid} if pid else {}
    return {}

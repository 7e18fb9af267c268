from typing import Any

import dagster as dg
from dagster import AssetObservation, DagsterInstance, DagsterRunStatus

from connect_dagster.orchestration import (
    KafkaConnectWorkspace,
    StandaloneConnectWorkerResource,
    build_connect_worker_failure_sensor,
    build_connect_worker_job,
)
from connect_dagster.orchestration.assets.keys import worker_key
from connect_dagster.orchestration.workers.job import WORKER_ID_TAG
from tests.unit.orchestration.workers.runs import add_run


def told_of(instance: DagsterInstance, run: dg.DagsterRun, event: dg.DagsterEvent) -> dict[str, Any]:
    """What the sensor puts on the worker's asset for a failed run."""
    worker = StandaloneConnectWorkerResource(workspace=KafkaConnectWorkspace())
    sensor = build_connect_worker_failure_sensor(job=build_connect_worker_job(workers={"w": worker}))
    context = dg.build_run_status_sensor_context(
        sensor_name=sensor.name, dagster_event=event, dagster_instance=instance, dagster_run=run
    ).for_run_failure()
    sensor(context)
    (record,) = instance.fetch_observations(worker_key("w"), limit=1).records
    assert record.asset_observation is not None
    return {name: entry.value for name, entry in record.asset_observation.metadata.items()}


def test_s3_10_a_run_that_failed_by_itself_tells_pid_signal_and_last_lines(instance: DagsterInstance) -> None:
    @dg.op
    def host_worker() -> None:
        raise dg.Failure("it died", metadata={"pid": 42, "exit": "signal SIGKILL", "last_lines": "no more memory"})

    @dg.job(tags={WORKER_ID_TAG: "w"}, executor_def=dg.in_process_executor)
    def connect_worker() -> None:
        host_worker()

    failed = connect_worker.execute_in_process(instance=instance, raise_on_error=False)
    event = next(event for event in failed.all_events if event.is_run_failure)
    told = told_of(instance, failed.dagster_run, event)
    assert (told["pid"], told["exit"], told["last_lines"]) == (42, "signal SIGKILL", "no more memory")
    assert told["run"] == failed.run_id


def test_of_a_run_that_could_not_speak_the_last_pid_is_told(instance: DagsterInstance) -> None:
    instance.report_runless_asset_event(AssetObservation(worker_key("w"), metadata={"pid": 42}))
    run = add_run(instance, DagsterRunStatus.FAILURE)
    message = "process ended; jdbc:mysql://u:kafka123@db/x"
    event = dg.DagsterEvent(dg.DagsterEventType.RUN_FAILURE.value, "connect_worker", message=message)
    told = told_of(instance, run, event)
    assert (told["pid"], told["run"]) == (42, run.run_id)
    assert told["error"] == "process ended; jdbc:mysql://u:********@db/x"
    assert "worker_running" not in told

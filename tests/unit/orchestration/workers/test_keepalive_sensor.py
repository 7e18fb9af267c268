import subprocess

import dagster as dg
import pytest
from dagster import AssetObservation, DagsterInstance, DagsterRunStatus

from connect_dagster.orchestration import (
    BackOff,
    StandaloneConnectWorkerResource,
    build_connect_worker_job,
    build_connect_worker_keepalive_sensor,
)
from connect_dagster.orchestration.assets.keys import worker_key
from connect_dagster.orchestration.workers.job import GENERATION_TAG, PROCESS_TAG, WORKER_ID_TAG
from connect_dagster.orchestration.workers.keepalive_sensor import (
    REPLACED_TAG,
    KeepaliveCursor,
    WorkerObservation,
    WorkerProbe,
)
from connect_dagster.orchestration.workers.run_process import RunProcess
from tests.unit.orchestration.workers.runs import NOW, add_run, status_of


def reason(instance: DagsterInstance, *, alive: bool = False, now: float = NOW) -> str | None:
    look = WorkerObservation(
        instance, "w", WorkerProbe(alive, "now"), 100.0, BackOff(base=10.0, cap=60.0, settled=600.0)
    )
    return look.reason_to_skip(now)


def process_tag(process: RunProcess | None) -> dict[str, str]:
    assert process is not None
    return {PROCESS_TAG: process.text()}


@pytest.fixture
def gone() -> RunProcess:
    """A process that has ended."""
    with subprocess.Popen(["sleep", "60"]) as ended:
        process = RunProcess.of(ended.pid)
        ended.kill()
    assert process is not None
    return process


def test_the_first_life_starts_at_once(instance: DagsterInstance) -> None:
    assert reason(instance) is None


def test_a_run_whose_worker_answers_is_left_alone(instance: DagsterInstance) -> None:
    run = add_run(instance, DagsterRunStatus.STARTED, age=50)
    assert reason(instance, alive=True) == f"Alive in run {run.run_id[:8]}"


def test_a_worker_that_still_starts_is_waited_for(instance: DagsterInstance) -> None:
    run = add_run(instance, DagsterRunStatus.STARTED, age=50, tags=process_tag(RunProcess.current()))
    assert reason(instance) == f"Run {run.run_id[:8]} is STARTED and its worker does not respond yet"


def test_a_zombie_that_is_silent_for_long_is_marked_failed_and_replaced(instance: DagsterInstance) -> None:
    run = add_run(instance, DagsterRunStatus.STARTED, age=150)
    assert reason(instance) is None
    assert status_of(instance, run) is DagsterRunStatus.FAILURE


def test_a_run_whose_process_is_gone_is_replaced_at_once(instance: DagsterInstance, gone: RunProcess) -> None:
    run = add_run(instance, DagsterRunStatus.STARTED, age=1, tags=process_tag(gone))
    assert reason(instance) is None
    assert status_of(instance, run) is DagsterRunStatus.FAILURE


def test_a_run_that_died_while_it_was_terminated_is_a_users_will(instance: DagsterInstance, gone: RunProcess) -> None:
    run = add_run(instance, DagsterRunStatus.CANCELING, age=1, tags=process_tag(gone))
    assert "was being terminated" in str(reason(instance))
    assert status_of(instance, run) is DagsterRunStatus.CANCELED
    assert "Stopped by a user" in str(reason(instance))


def test_a_termination_that_nobody_ends_is_a_users_will_in_the_end(instance: DagsterInstance) -> None:
    """Where it cannot be seen whether the run's process is gone, as on another machine."""
    run = add_run(instance, DagsterRunStatus.CANCELING, age=150)
    assert "was being terminated" in str(reason(instance))
    assert status_of(instance, run) is DagsterRunStatus.CANCELED


def test_a_zombie_behind_a_users_stop_does_not_undo_it(instance: DagsterInstance, gone: RunProcess) -> None:
    zombie = add_run(instance, DagsterRunStatus.STARTED, age=5000, tags=process_tag(gone))
    add_run(instance, DagsterRunStatus.CANCELED, age=100, lasted=10)
    assert "Stopped by a user" in str(reason(instance))
    assert status_of(instance, zombie) is DagsterRunStatus.FAILURE


def test_an_observation_is_a_sign_of_life(instance: DagsterInstance) -> None:
    add_run(instance, DagsterRunStatus.STARTED, age=150)
    instance.report_runless_asset_event(AssetObservation(worker_key("w")))
    assert "does not respond yet" in str(reason(instance))


def test_a_canceled_run_is_a_users_will(instance: DagsterInstance) -> None:
    add_run(instance, DagsterRunStatus.FAILURE, age=5000)
    add_run(instance, DagsterRunStatus.CANCELED, age=1000, lasted=10)
    assert "Stopped by a user; launch the job connect_worker" in str(reason(instance))


def test_a_launch_by_hand_ends_the_users_stop(instance: DagsterInstance) -> None:
    add_run(instance, DagsterRunStatus.CANCELED, age=1000, lasted=10)
    add_run(instance, DagsterRunStatus.FAILURE, age=500, lasted=10)
    assert reason(instance) is None


def test_a_run_that_the_sensor_replaces_is_no_users_will(instance: DagsterInstance) -> None:
    add_run(instance, DagsterRunStatus.CANCELED, age=10, lasted=10, tags={REPLACED_TAG: "now"})
    assert reason(instance) is None


@pytest.mark.parametrize(
    ("status", "tags", "outdated"),
    [
        (DagsterRunStatus.STARTED, {GENERATION_TAG: "before"}, True),
        (DagsterRunStatus.STARTED, {GENERATION_TAG: "now"}, False),
        (DagsterRunStatus.STARTED, {}, False),
        (DagsterRunStatus.CANCELING, {GENERATION_TAG: "before"}, False),
    ],
)
def test_a_worker_is_outdated_when_its_run_began_with_another_configuration(
    instance: DagsterInstance, status: DagsterRunStatus, tags: dict[str, str], outdated: bool
) -> None:
    add_run(instance, status, tags=tags)
    assert WorkerObservation(instance, "w", WorkerProbe(True, "now"), 100.0, BackOff()).is_outdated is outdated


def test_a_worker_of_somebody_else_is_not_fought(instance: DagsterInstance) -> None:
    assert reason(instance, alive=True) == "A worker that Dagster did not launch responds at the address"


@pytest.mark.parametrize(("failures", "wait"), [(1, 10), (2, 20), (3, 40), (4, 60), (9, 60)])
def test_waits_double_up_to_the_cap(instance: DagsterInstance, failures: int, wait: int) -> None:
    for _ in range(failures):
        add_run(instance, DagsterRunStatus.FAILURE, age=0)
    assert reason(instance, now=NOW + wait - 1) == "Waiting 1 s after a failure"
    assert reason(instance, now=NOW + wait) is None


def test_a_long_life_starts_the_count_anew(instance: DagsterInstance) -> None:
    for _ in range(3):
        add_run(instance, DagsterRunStatus.FAILURE, age=5000)
    add_run(instance, DagsterRunStatus.FAILURE, age=700, lasted=700)
    assert reason(instance, now=NOW + 10) is None


def tick(
    instance: DagsterInstance, worker: StandaloneConnectWorkerResource, *worker_ids: str, cursor: str | None = None
) -> dg.SensorResult:
    """What the sensor answers for workers of these names."""
    workers = dict.fromkeys(worker_ids, worker)
    sensor = build_connect_worker_keepalive_sensor(job=build_connect_worker_job(workers=workers), workers=workers)
    with dg.build_sensor_context(instance=instance, cursor=cursor) as context:
        result = sensor(context)
    assert isinstance(result, dg.SensorResult)
    return result


def test_run_keys_count_attempts_beyond_cursor_and_tags(
    instance: DagsterInstance, worker: StandaloneConnectWorkerResource
) -> None:
    def key(cursor: str | None) -> str | None:
        (request,) = tick(instance, worker, "w", cursor=cursor).run_requests or ()
        return request.run_key

    generation = worker.generation
    assert key(None) == f"w:{generation}:1"
    assert key(KeepaliveCursor(attempts={"w": 4}).model_dump_json()) == f"w:{generation}:5"
    assert key("not json") == f"w:{generation}:1"
    add_run(instance, DagsterRunStatus.FAILURE, age=5000, attempt=7)
    assert key(KeepaliveCursor(attempts={"w": 4}).model_dump_json()) == f"w:{generation}:8"


def test_each_worker_gets_a_run_of_its_own(instance: DagsterInstance, worker: StandaloneConnectWorkerResource) -> None:
    result = tick(instance, worker, "a", "b")
    requests = result.run_requests or ()
    assert [request.run_key for request in requests] == [f"{name}:{worker.generation}:1" for name in ("a", "b")]
    assert [request.tags[WORKER_ID_TAG] for request in requests] == ["a", "b"]
    assert [request.run_config["ops"]["connect_worker_op"]["config"]["worker_id"] for request in requests] == ["a", "b"]
    assert KeepaliveCursor.read(result.cursor).attempts == {"a": 1, "b": 1}


def test_a_stopped_worker_stays_down_while_others_are_kept_alive(
    instance: DagsterInstance, worker: StandaloneConnectWorkerResource
) -> None:
    add_run(instance, DagsterRunStatus.CANCELED, worker_id="a", age=100, lasted=10, attempt=1)
    add_run(instance, DagsterRunStatus.FAILURE, worker_id="b", age=100, lasted=10, attempt=1)
    assert [request.run_key for request in tick(instance, worker, "a", "b").run_requests or ()] == [
        f"b:{worker.generation}:2"
    ]
    add_run(instance, DagsterRunStatus.CANCELED, worker_id="b", age=50, lasted=10, attempt=2)
    skipped = tick(instance, worker, "a", "b")
    assert skipped.skip_reason is not None
    assert [part[:20] for part in str(skipped.skip_reason.skip_message).split("; ") if part[1] == ":"] == [
        "a: Stopped by a user",
        "b: Stopped by a user",
    ]

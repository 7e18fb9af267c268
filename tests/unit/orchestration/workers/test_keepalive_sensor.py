import subprocess

import dagster as dg
import pytest
from dagster import AssetObservation, DagsterInstance, DagsterRun, DagsterRunStatus

from connect_dagster.orchestration import (
    BackOff,
    StandaloneConnectWorkerResource,
    build_connect_worker_job,
    build_connect_worker_keepalive_sensor,
)
from connect_dagster.orchestration.assets.keys import worker_key
from connect_dagster.orchestration.workers.job import GENERATION_TAG, PROCESS_TAG, REFUSED_TAG, WORKER_ID_TAG
from connect_dagster.orchestration.workers.keepalive_sensor import (
    MIN_REQUESTS,
    REPLACED_TAG,
    UNRESPONSIVE_TAG,
    KeepaliveCursor,
    Silence,
    WorkerObservation,
    WorkerProbe,
)
from connect_dagster.orchestration.workers.run_process import RunProcess
from tests.unit.orchestration.workers.runs import NOW, add_run, observe_in, status_of, stop_the_clock


@pytest.fixture(autouse=True)
def at_now(monkeypatch: pytest.MonkeyPatch) -> None:
    stop_the_clock(monkeypatch)


def reason(instance: DagsterInstance, *, alive: bool = False, now: float = NOW) -> str | None:
    look = WorkerObservation(
        instance, "w", WorkerProbe(alive, alive, "now"), 100.0, BackOff(base=10.0, cap=60.0, settled=600.0)
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


def without_rest(instance: DagsterInstance, generation: str = "now") -> WorkerObservation:
    """A process that has no REST API, as MirrorMaker's."""
    return WorkerObservation(instance, "w", WorkerProbe(None, True, generation), 100.0, BackOff())


def test_without_rest_a_process_lives_while_its_run_observes_it(instance: DagsterInstance) -> None:
    assert not without_rest(instance).alive
    run = add_run(instance, DagsterRunStatus.STARTED, age=150, tags={GENERATION_TAG: "now"})
    observe_in(instance, run, NOW - 50)
    look = without_rest(instance)
    assert look.alive
    assert look.silence(NOW, 1000.0) is None
    assert look.reason_to_skip(NOW) == f"Alive in run {run.run_id[:8]}"
    assert without_rest(instance, "other").is_outdated


def test_without_rest_a_run_whose_process_is_seen_lives_however_rarely_it_reports(instance: DagsterInstance) -> None:
    run = add_run(instance, DagsterRunStatus.STARTED, age=500, tags=process_tag(RunProcess.current()))
    observe_in(instance, run, NOW - 400)
    assert without_rest(instance).alive
    assert without_rest(instance).reason_to_skip(NOW) == f"Alive in run {run.run_id[:8]}"
    assert status_of(instance, run) is DagsterRunStatus.STARTED


def test_without_rest_a_process_that_starts_is_waited_for(instance: DagsterInstance) -> None:
    run = add_run(instance, DagsterRunStatus.STARTED, age=50)
    look = without_rest(instance)
    assert not look.alive
    assert look.reason_to_skip(NOW) == f"Run {run.run_id[:8]} is STARTED and its worker does not respond yet"


def test_without_rest_a_run_that_is_silent_or_gone_is_replaced(instance: DagsterInstance, gone: RunProcess) -> None:
    silent = add_run(instance, DagsterRunStatus.STARTED, age=500)
    observe_in(instance, silent, NOW - 150)
    assert without_rest(instance).reason_to_skip(NOW) is None
    assert status_of(instance, silent) is DagsterRunStatus.FAILURE
    dead = add_run(instance, DagsterRunStatus.STARTED, age=5, tags=process_tag(gone))
    observe_in(instance, dead, NOW - 1)
    assert without_rest(instance).reason_to_skip(NOW) is None
    assert status_of(instance, dead) is DagsterRunStatus.FAILURE


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
    run = add_run(instance, DagsterRunStatus.STARTED, age=150)
    observe_in(instance, run, NOW - 10)
    assert "does not respond yet" in str(reason(instance))


def test_an_event_of_a_sensor_is_no_sign_of_life(instance: DagsterInstance) -> None:
    """Failed: the event of each termination that could not be carried out kept the dead run for good."""
    run = add_run(instance, DagsterRunStatus.STARTED, age=150)
    instance.report_runless_asset_event(AssetObservation(worker_key("w")))
    assert reason(instance) is None
    assert status_of(instance, run) is DagsterRunStatus.FAILURE


def test_a_canceled_run_is_a_users_will(instance: DagsterInstance) -> None:
    add_run(instance, DagsterRunStatus.FAILURE, age=5000)
    add_run(instance, DagsterRunStatus.CANCELED, age=1000, lasted=10)
    assert "Stopped by a user; launch the job connect_worker" in str(reason(instance))


def test_a_launch_by_hand_ends_the_users_stop(instance: DagsterInstance) -> None:
    add_run(instance, DagsterRunStatus.CANCELED, age=1000, lasted=10)
    add_run(instance, DagsterRunStatus.FAILURE, age=500, lasted=10)
    assert reason(instance) is None


def test_a_run_that_was_refused_beside_it_does_not_undo_a_users_will(instance: DagsterInstance) -> None:
    """Failed: it was the newest run, and the worker that a user had stopped was launched again."""
    add_run(instance, DagsterRunStatus.CANCELED, age=1000, lasted=900)
    add_run(instance, DagsterRunStatus.FAILURE, age=500, lasted=1, tags={REFUSED_TAG: "true"})
    assert "Stopped by a user" in str(reason(instance))


def test_a_run_that_was_refused_does_not_hide_the_worker(instance: DagsterInstance) -> None:
    hosting = add_run(instance, DagsterRunStatus.STARTED, age=1000, tags={GENERATION_TAG: "before"})
    observe_in(instance, hosting, NOW)
    add_run(instance, DagsterRunStatus.FAILURE, age=500, lasted=1, tags={REFUSED_TAG: "true"})
    assert WorkerObservation(instance, "w", WorkerProbe(True, True, "now"), 900.0, BackOff()).is_outdated
    silence = silence_of(instance)
    assert silence is not None
    assert silence.run_id == hosting.run_id


def test_a_run_that_the_sensor_replaces_is_no_users_will(instance: DagsterInstance) -> None:
    add_run(instance, DagsterRunStatus.CANCELED, age=10, lasted=10, tags={REPLACED_TAG: "now"})
    assert reason(instance) is None


def silence_of(
    instance: DagsterInstance, before: Silence | None = None, *, responds: bool = False, now: float = NOW
) -> Silence | None:
    look = WorkerObservation(instance, "w", WorkerProbe(False, responds, "now"), 900.0, BackOff(), before)
    return look.silence(now, 300.0)


def test_requests_without_a_response_are_counted_once_a_worker_has_run(instance: DagsterInstance) -> None:
    """A worker whose process lived while its REST was dead was kept for good."""
    run = add_run(instance, DagsterRunStatus.STARTED, age=100)
    assert silence_of(instance) is None
    observe_in(instance, run, NOW - 50, rest_answering=1)
    first = Silence(run_id=run.run_id, requests=1, since=NOW, last_at=NOW)
    assert silence_of(instance) == first
    second = silence_of(instance, first, now=NOW + 10)
    assert second == Silence(run_id=run.run_id, requests=2, since=NOW, last_at=NOW + 10)


@pytest.mark.parametrize("responds", [True, False])
def test_an_error_is_a_response(instance: DagsterInstance, responds: bool) -> None:
    run = add_run(instance, DagsterRunStatus.STARTED, age=100)
    observe_in(instance, run, NOW - 50, rest_answering=1)
    before = Silence(run_id=run.run_id, requests=3, since=NOW - 30, last_at=NOW - 10)
    assert (silence_of(instance, before, responds=responds) is None) is responds


def test_a_silence_begins_again_with_another_run_and_after_a_gap(instance: DagsterInstance) -> None:
    run = add_run(instance, DagsterRunStatus.STARTED, age=1000)
    observe_in(instance, run, NOW - 900, rest_answering=1)
    fresh = Silence(run_id=run.run_id, requests=1, since=NOW, last_at=NOW)
    going_on = Silence(run_id=run.run_id, requests=9, since=NOW - 290, last_at=NOW - 10)
    assert silence_of(instance, going_on.model_copy(update={"run_id": "former"})) == fresh
    assert silence_of(instance, going_on.model_copy(update={"last_at": NOW - 301})) == fresh
    assert silence_of(instance, going_on) == going_on.model_copy(update={"requests": 10, "last_at": NOW})


def test_observations_of_others_do_not_show_that_a_run_has_begun(instance: DagsterInstance) -> None:
    """The failure of a former run is reported on the asset while the next one starts Spark."""
    add_run(instance, DagsterRunStatus.STARTED, age=100)
    instance.report_runless_asset_event(AssetObservation(worker_key("w"), metadata={"error": "killed"}))
    assert silence_of(instance) is None


@pytest.mark.parametrize(
    ("requests", "seconds", "over"),
    [(MIN_REQUESTS, 300.0, True), (MIN_REQUESTS - 1, 5000.0, False), (100, 299.0, False)],
)
def test_a_silence_is_over_after_its_time_and_enough_requests(requests: int, seconds: float, over: bool) -> None:
    assert Silence(run_id="r", requests=requests, since=NOW, last_at=NOW + seconds).is_over(300.0) is over


def test_a_run_that_ended_for_its_silence_counts_as_a_failure(instance: DagsterInstance) -> None:
    add_run(instance, DagsterRunStatus.CANCELED, age=500, lasted=500, tags={UNRESPONSIVE_TAG: "300"})
    assert reason(instance, now=NOW + 9) == "Waiting 1 s after a failure"
    assert reason(instance, now=NOW + 10) is None


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
    assert WorkerObservation(instance, "w", WorkerProbe(True, True, "now"), 100.0, BackOff()).is_outdated is outdated


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


class Terminated:
    """Takes the place of the run coordinator."""

    def __init__(self) -> None:
        self.run_ids: list[str] = []
        self.error: dg.DagsterError | None = None

    def cancel_run(self, run_id: str) -> bool:
        self.run_ids.append(run_id)
        if self.error is not None:
            raise self.error
        return True


@pytest.fixture
def terminated(instance: DagsterInstance, monkeypatch: pytest.MonkeyPatch) -> Terminated:
    """The runs that the sensor terminates."""
    coordinator = Terminated()
    monkeypatch.setattr(type(instance), "run_coordinator", coordinator)
    return coordinator


def silent_run(instance: DagsterInstance, worker_id: str = "w") -> tuple[DagsterRun, Silence]:
    """A run that lives, and whose worker has not responded for so long that the next request is the last."""
    run = add_run(
        instance, DagsterRunStatus.STARTED, worker_id=worker_id, age=1000, tags=process_tag(RunProcess.current())
    )
    observe_in(instance, run, NOW - 500, worker_id=worker_id, rest_answering=1)
    return run, Silence(run_id=run.run_id, requests=MIN_REQUESTS - 1, since=NOW - 301, last_at=NOW - 10)


def test_a_worker_whose_rest_is_dead_is_terminated_with_a_reason(
    instance: DagsterInstance, worker: StandaloneConnectWorkerResource, terminated: Terminated
) -> None:
    run, silence = silent_run(instance)
    result = tick(instance, worker, "w", cursor=KeepaliveCursor(silences={"w": silence}).model_dump_json())
    assert terminated.run_ids == [run.run_id]
    (event,) = result.asset_events
    assert isinstance(event, AssetObservation)
    assert event.asset_key == worker_key("w")
    expected = f"w: run {run.run_id[:8]} is terminated, as its REST API has not responded to {MIN_REQUESTS} requests in"
    assert str(event.description).startswith(expected)
    assert str(result.skip_reason and result.skip_reason.skip_message).endswith(str(event.description))
    told = [str(entry.dagster_event and entry.dagster_event.message) for entry in instance.all_logs(run.run_id)]
    assert event.description in told
    found = instance.get_run_by_id(run.run_id)
    assert found is not None
    assert UNRESPONSIVE_TAG in found.tags


def test_a_silence_that_is_not_over_terminates_nothing(
    instance: DagsterInstance, worker: StandaloneConnectWorkerResource, terminated: Terminated
) -> None:
    run, silence = silent_run(instance)
    shorter = silence.model_copy(update={"since": NOW - 100})
    result = tick(instance, worker, "w", cursor=KeepaliveCursor(silences={"w": shorter}).model_dump_json())
    assert (terminated.run_ids, result.asset_events) == ([], [])
    assert KeepaliveCursor.read(result.cursor).silences["w"].requests == MIN_REQUESTS
    assert f"its worker did not respond to {MIN_REQUESTS} requests" in str(
        result.skip_reason and result.skip_reason.skip_message
    )
    assert status_of(instance, run) is DagsterRunStatus.STARTED


@pytest.mark.parametrize(("age", "answering", "ended"), [(302, 1, False), (302, 0, True), (451, 1, True)])
def test_a_worker_that_responds_to_its_run_is_left_alone(
    instance: DagsterInstance,
    worker: StandaloneConnectWorkerResource,
    terminated: Terminated,
    age: int,
    answering: int,
    ended: bool,
) -> None:
    """Failed: reports are 300 s and a request apart, so that a healthy worker was ended in between."""
    run, silence = silent_run(instance)
    observe_in(instance, run, NOW - age, rest_answering=answering)
    tick(instance, worker, "w", cursor=KeepaliveCursor(silences={"w": silence}).model_dump_json())
    assert bool(terminated.run_ids) is ended


def test_silent_workers_are_terminated_one_at_a_time(
    instance: DagsterInstance, worker: StandaloneConnectWorkerResource, terminated: Terminated
) -> None:
    (first, silence), (_, other) = silent_run(instance, "a"), silent_run(instance, "b")
    cursor = KeepaliveCursor(silences={"a": silence, "b": other}).model_dump_json()
    tick(instance, worker, "a", "b", cursor=cursor)
    assert terminated.run_ids == [first.run_id]
    add_run(instance, DagsterRunStatus.STARTED, worker_id="a", age=10, tags=process_tag(RunProcess.current()))
    tick(instance, worker, "a", "b", cursor=cursor)
    assert terminated.run_ids == [first.run_id]


def test_a_run_that_cannot_be_terminated_does_not_stop_the_sensor(
    instance: DagsterInstance, worker: StandaloneConnectWorkerResource, terminated: Terminated
) -> None:
    """Failed: each tick tried again, with an event each."""
    terminated.error = dg.DagsterInvariantViolationError("Could not reach user code server")
    run, silence = silent_run(instance)
    cursor = KeepaliveCursor(silences={"w": silence}).model_dump_json()
    result = tick(instance, worker, "w", cursor=cursor)
    assert "but cannot be: Could not reach user code server" in str(result.skip_reason)
    assert tick(instance, worker, "w", cursor=result.cursor).asset_events == []
    assert terminated.run_ids == [run.run_id]


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

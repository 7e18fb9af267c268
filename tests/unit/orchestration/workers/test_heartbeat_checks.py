import time

import dagster as dg
from dagster import AssetCheckResult, AssetCheckSeverity, AssetObservation, DagsterInstance, instance_for_test

from connect_dagster.orchestration import build_worker_asset_spec, build_worker_heartbeat_checks
from connect_dagster.orchestration.assets.keys import worker_key
from connect_dagster.orchestration.workers.heartbeat_checks import heartbeat_result


def observe(instance: DagsterInstance, **metadata: str | int) -> None:
    instance.report_runless_asset_event(AssetObservation(worker_key("w"), metadata=metadata))


def found(instance: DagsterInstance, *, later: float = 0.0) -> AssetCheckResult:
    return heartbeat_result(instance, "w", 60.0, time.time() + later)


def test_a_worker_that_was_never_seen_fails(instance: DagsterInstance) -> None:
    assert (found(instance).passed, found(instance).description) == (False, "The worker was never seen.")


def test_a_worker_seen_lately_passes_with_its_age(instance: DagsterInstance) -> None:
    observe(instance, worker_running=1)
    result = found(instance, later=30)
    age = result.metadata["heartbeat_age_seconds"].value
    assert result.passed
    assert isinstance(age, float)
    assert 30 <= age < 40


def test_a_silent_worker_fails(instance: DagsterInstance) -> None:
    observe(instance, worker_running=1)
    result = found(instance, later=100)
    assert not result.passed
    assert str(result.description).endswith("s ago; 60 s are allowed.")


def test_a_worker_that_has_ended_fails_and_tells_how(instance: DagsterInstance) -> None:
    observe(instance, worker_running=0, exit="signal SIGKILL")
    assert found(instance).description == "The worker has ended: signal SIGKILL."


def test_a_worker_that_runs_but_does_not_answer_fails(instance: DagsterInstance) -> None:
    observe(instance, worker_running=1, rest_answering=0, rest_error="timed out")
    assert found(instance).description == "The worker runs, but its REST API does not respond: timed out."


def test_flows_of_mirror_makers_process_that_failed_fail(instance: DagsterInstance) -> None:
    """No other check sees them; of a worker's tasks those of the connectors do."""
    observe(instance, worker_running=1, connector_count=3, task_count=5, tasks_failed=2)
    assert found(instance).passed
    flows = {"flow_count": 1, "connector_count": 3, "task_count": 5}
    observe(instance, worker_running=1, **flows, connectors_failed=0, tasks_failed=0)
    assert found(instance).passed
    observe(instance, worker_running=1, **flows, connectors_failed=1, tasks_failed=2, error="eu->us Source-1: lost")
    assert found(instance).description == (
        "The process runs, but 3 of 8 connectors and tasks FAILED: eu->us Source-1: lost"
    )
    observe(instance, worker_running=1, **flows, connectors_failed=0, tasks_failed=0, flows_error="us->eu: no broker")
    unknown = found(instance)
    assert (unknown.passed, unknown.severity) == (False, AssetCheckSeverity.WARN)
    assert unknown.description == "The process runs, but states of its flows are not known: us->eu: no broker"
    observe(instance, worker_running=1, **flows, connectors_missing="eu->us Source")
    missing = found(instance)
    assert (missing.passed, missing.severity) == (False, AssetCheckSeverity.WARN)
    assert str(missing.description).startswith("The process runs, but these connectors have no state: eu->us Source;")


def test_why_a_former_life_ended_is_no_heartbeat(instance: DagsterInstance) -> None:
    observe(instance, worker_running=1)
    observe(instance, pid=1, exit="signal SIGKILL", error="told late")
    assert found(instance).passed


def test_an_instance_that_ends_runs_is_warned_of() -> None:
    overrides = {"run_monitoring": {"enabled": True, "max_runtime_seconds": 3600}}
    with instance_for_test(overrides=overrides) as instance:
        observe(instance, worker_running=1)
        result = found(instance)
    assert (result.passed, result.severity) == (False, AssetCheckSeverity.WARN)
    assert "ends runs after 3600 s (run_monitoring.max_runtime_seconds)" in str(result.description)


def test_the_check_belongs_to_the_workers_asset(instance: DagsterInstance) -> None:
    checks = build_worker_heartbeat_checks(worker_ids=["w"])
    defs = dg.Definitions(assets=[build_worker_asset_spec("w")], asset_checks=checks)
    observe(instance, worker_running=1)
    job = dg.define_asset_job("check", selection=dg.AssetSelection.all_asset_checks())
    defs = dg.Definitions.merge(defs, dg.Definitions(jobs=[job]))
    result = defs.resolve_job_def("check").execute_in_process(instance=instance)
    (evaluation,) = result.get_asset_check_evaluations()
    assert (evaluation.asset_key, evaluation.check_name, evaluation.passed) == (worker_key("w"), "heartbeat", True)

from typing import Any

import dagster as dg
import pytest

from connect_dagster.orchestration import (
    ConnectWorkerResource,
    KafkaConnectWorkspace,
    StandaloneConnectWorkerResource,
    build_connect_worker_definitions,
    numbered_workers,
)
from connect_dagster.orchestration.assets.keys import group_key, topic_key, worker_key


def worker(**fields: Any) -> ConnectWorkerResource:
    return ConnectWorkerResource(
        workspace=KafkaConnectWorkspace(url="http://127.0.0.1:8083", cluster="prod"),
        bootstrap_servers="127.0.0.1:9092",
        group_id="connect",
        config_storage_topic="connect-configs",
        offset_storage_topic="connect-offsets",
        status_storage_topic="connect-status",
        **fields,
    )


def test_several_workers_listen_at_ports_in_a_row() -> None:
    workers = numbered_workers(worker(listener="http://0.0.0.0:9083"), 3)
    assert list(workers) == ["worker-1", "worker-2", "worker-3"]
    assert [one.listener for one in workers.values()] == [f"http://0.0.0.0:{port}" for port in (9083, 9084, 9085)]
    assert [one.workspace.url for one in workers.values()] == [
        f"http://127.0.0.1:{port}" for port in (8083, 8084, 8085)
    ]
    assert {(one.group_id, one.workspace.cluster) for one in workers.values()} == {("connect", "prod")}


def test_without_a_port_there_is_nothing_to_count_from() -> None:
    with pytest.raises(ValueError, match="'http://node' names no port to count from"):
        numbered_workers(worker(listener="http://node"), 2)


def test_workers_their_group_and_its_topics_are_one_lineage() -> None:
    defs = build_connect_worker_definitions(workers=numbered_workers(worker(), 2))
    deps = {spec.key: {dep.asset_key for dep in spec.deps} for spec in defs.resolve_all_asset_specs()}
    workers = {worker_key("worker-1"), worker_key("worker-2")}
    group = group_key("connect")
    topics = {topic_key(f"connect-{kind}") for kind in ("configs", "offsets", "status")}
    assert deps == {**{key: set() for key in workers}, group: workers, **{key: {group} for key in topics}}
    sensors = {sensor.name for sensor in defs.sensors or ()}
    assert sensors == {"connect_worker__keepalive_sensor", "connect_worker__failure_sensor"}
    checks = {key for each in defs.asset_checks or () for key in each.check_keys}
    assert {(key.asset_key, key.name) for key in checks} == {(key, "heartbeat") for key in workers}


def test_of_two_locations_with_workers_of_a_group_one_has_its_assets() -> None:
    first, second = (
        build_connect_worker_definitions(workers={name: worker()}, group_assets=group_assets)
        for name, group_assets in (("machine-1", True), ("machine-2", False))
    )
    keys = [{spec.key for spec in defs.resolve_all_asset_specs()} for defs in (first, second)]
    assert keys[1] == {worker_key("machine-2")}
    assert group_key("connect") in keys[0]
    assert keys[0].isdisjoint(keys[1])


def test_two_groups_are_merged() -> None:
    one = build_connect_worker_definitions(workers={"a": worker()})
    other = ConnectWorkerResource(
        workspace=KafkaConnectWorkspace(),
        group_id="other",
        config_storage_topic="other-configs",
        offset_storage_topic="other-offsets",
        status_storage_topic="other-status",
    )
    merged = dg.Definitions.merge(one, build_connect_worker_definitions(workers={"b": other}, job_name="other_worker"))
    dg.Definitions.validate_loadable(merged)
    assert {job.name for job in merged.jobs or ()} == {"connect_worker", "other_worker"}


def test_a_standalone_worker_has_no_group() -> None:
    workers = {"w": StandaloneConnectWorkerResource(workspace=KafkaConnectWorkspace())}
    defs = build_connect_worker_definitions(workers=workers)
    assert [spec.key for spec in defs.resolve_all_asset_specs()] == [worker_key("w")]


def test_the_launchpad_needs_no_edit() -> None:
    defs = build_connect_worker_definitions(workers=numbered_workers(worker(), 2))
    job = defs.resolve_job_def("connect_worker")
    assert job.run_config is not None
    assert job.run_config["ops"]["connect_worker_op"]["config"]["worker_id"] == "worker-1"
    assert dg.validate_run_config(job, job.run_config)
    assert dg.validate_run_config(job)


def test_a_worker_of_another_name_fails_with_those_there_are() -> None:
    defs = build_connect_worker_definitions(workers=numbered_workers(worker(), 2))
    config = {"ops": {"connect_worker_op": {"config": {"worker_id": "worker-9"}}}}
    with pytest.raises(dg.Failure, match="The job has no worker 'worker-9'; it has worker-1, worker-2"):
        defs.resolve_job_def("connect_worker").execute_in_process(run_config=config)


def test_topics_that_are_not_named_are_asked_for_when_the_location_loads() -> None:
    nameless = ConnectWorkerResource(workspace=KafkaConnectWorkspace(), group_id="g")
    with pytest.raises(dg.Failure, match=r"no config\.storage\.topic: give config_storage_topic"):
        build_connect_worker_definitions(workers={"w": nameless})


def test_names_of_groups_and_topics_may_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NAME_OF_GROUP", "prod")
    named = ConnectWorkerResource(
        workspace=KafkaConnectWorkspace(),
        group_id=dg.EnvVar("NAME_OF_GROUP"),
        config_storage_topic="c",
        offset_storage_topic="o",
        status_storage_topic="s",
    )
    keys = {spec.key for spec in build_connect_worker_definitions(workers={"w": named}).resolve_all_asset_specs()}
    assert group_key("prod") in keys

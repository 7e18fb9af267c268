"""Workers in YAML."""

from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from connect_dagster.orchestration import (
    ConnectWorkerComponent,
    ConnectWorkerResource,
    MirrorMakerResource,
    StandaloneConnectWorkerResource,
)
from connect_dagster.orchestration.assets.keys import worker_key
from tests.unit.orchestration.components.sandbox import loaded, scaffolded

WORKSPACE = {"url": "http://127.0.0.1:8183"}
WORKER = {
    "bootstrap_servers": "127.0.0.1:9092",
    "listener": "http://127.0.0.1:8183",
    "group_id": "connect",
    "config_storage_topic": "connect-configs",
    "offset_storage_topic": "connect-offsets",
    "status_storage_topic": "connect-status",
    "properties": {"sasl.jaas.config": {"env": "JAAS"}},
}


def test_what_is_scaffolded_loads() -> None:
    with scaffolded(ConnectWorkerComponent, group_id="ingest", bootstrap_servers="kafka:9092") as (component, defs):
        (worker,) = component.workers().values()
        assert isinstance(worker, ConnectWorkerResource)
        assert (worker.group_id, worker.config_storage_topic) == ("ingest", "ingest-configs")
        assert worker.bootstrap_servers == "kafka:9092"
        assert worker_key("worker-1") in defs.resolve_asset_graph().get_all_asset_keys()


def test_several_workers_of_a_group_have_a_job_sensors_and_assets() -> None:
    given = {"workspace": WORKSPACE, "worker": WORKER, "count": 2, "spark_config": {"spark.driver.memory": "2g"}}
    with loaded(ConnectWorkerComponent, given) as (component, defs):
        workers = {name: one for name, one in component.workers().items() if isinstance(one, ConnectWorkerResource)}
        assert {name: worker.listener for name, worker in workers.items()} == {
            "worker-1": "http://127.0.0.1:8183",
            "worker-2": "http://127.0.0.1:8184",
        }
        assert {worker.spark.spark_config["spark.driver.memory"] for worker in workers.values()} == {"2g"}
        assert isinstance(workers["worker-1"].properties["sasl.jaas.config"], dg.EnvVar)
        repository = defs.get_repository_def()
        assert "connect_worker" in repository.job_names
        assert {"connect_worker__keepalive_sensor", "connect_worker__failure_sensor"} <= {
            sensor.name for sensor in repository.sensor_defs
        }
        assert {worker_key("worker-1"), worker_key("worker-2")} <= defs.resolve_asset_graph().get_all_asset_keys()


def test_the_assets_of_the_group_can_be_left_to_another_location() -> None:
    given = {"workspace": WORKSPACE, "worker": WORKER, "group_assets": False}
    with loaded(ConnectWorkerComponent, given) as (_, defs):
        assert defs.resolve_asset_graph().get_all_asset_keys() == {worker_key("worker-1")}


def test_a_standalone_worker_has_its_files_beside_the_yaml() -> None:
    alone = {"worker_properties": "worker.properties", "connector_files": ["src.properties"]}
    given = {"workspace": WORKSPACE, "standalone": alone, "name": "alone", "job_name": "files"}
    with loaded(ConnectWorkerComponent, given) as (component, defs):
        worker = component.workers()["alone"]
        assert isinstance(worker, StandaloneConnectWorkerResource)
        assert Path(worker.worker_properties or "").parts[-2:] == ("ingest", "worker.properties")
        assert [Path(file).parts[-2:] for file in worker.connector_files] == [("ingest", "src.properties")]
        assert "files" in defs.get_repository_def().job_names


@pytest.mark.parametrize("given", [{}, {"worker": WORKER, "standalone": {}}], ids=["none", "both"])
def test_there_is_one_kind_of_worker(given: dict[str, Any]) -> None:
    with loaded(ConnectWorkerComponent, {"workspace": WORKSPACE, "worker": WORKER}):
        component = ConnectWorkerComponent.resolve_from_dict({"workspace": WORKSPACE, **given})
        with pytest.raises(
            dg.DagsterInvalidDefinitionError, match="one of `worker`, a member of a group, `standalone`"
        ):
            component.workers()


@pytest.mark.parametrize("kind", ["standalone", "mirror_maker"])
def test_only_members_of_a_group_are_several(kind: str) -> None:
    with loaded(ConnectWorkerComponent, {"workspace": WORKSPACE, "worker": WORKER}):
        component = ConnectWorkerComponent.resolve_from_dict({"workspace": WORKSPACE, kind: {}, "count": 2})
        with pytest.raises(dg.DagsterInvalidDefinitionError, match="`count: 2` is for members of a group"):
            component.workers()


def test_the_number_of_workers_may_be_a_template(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKERS", "3")
    given = {"workspace": WORKSPACE, "worker": WORKER, "count": "{{ env.WORKERS }}"}
    with loaded(ConnectWorkerComponent, given) as (component, _):
        assert len(component.workers()) == 3
        none = ConnectWorkerComponent.resolve_from_dict({"workspace": WORKSPACE, "worker": WORKER, "count": 0})
        with pytest.raises(dg.DagsterInvalidDefinitionError, match="`count` must be 1 or more, but is 0"):
            none.workers()


def test_mirror_makers_process_needs_no_workspace_and_workers_do() -> None:
    properties = {"clusters": "eu, us", "eu->us.enabled": "true", "eu.sasl.jaas.config": {"env": "EU_JAAS"}}
    given = {"mirror_maker": {"properties": properties, "clusters": ["us"]}, "name": "mirror", "job_name": "mirroring"}
    with loaded(ConnectWorkerComponent, given) as (component, defs):
        mirror = component.workers()["mirror"]
        assert isinstance(mirror, MirrorMakerResource)
        assert mirror.clusters == ["us"]
        assert isinstance(mirror.properties["eu.sasl.jaas.config"], dg.EnvVar)
        assert "mirroring" in defs.get_repository_def().job_names
        spec = defs.resolve_asset_graph().get(worker_key("mirror"))
        assert "hosted by the job `mirroring`" in (spec.description or "")
        without = ConnectWorkerComponent.resolve_from_dict({"worker": WORKER})
        with pytest.raises(dg.DagsterInvalidDefinitionError, match="needs `workspace`"):
            without.workers()

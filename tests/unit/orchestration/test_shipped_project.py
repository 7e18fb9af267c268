"""The project in `assets/` and `resources/`, as a user without settings, network or worker loads it."""

import subprocess
import sys

import dagster as dg

import assets
import resources
from connect_dagster.orchestration.assets.keys import connector_key, file_key, topic_key
from tests.shipped_project import ROOT


def test_it_holds_seed_001s_files_topic_and_connectors() -> None:
    keys = {spec.key for spec in assets.defs.resolve_all_asset_specs()}
    assert keys >= {
        file_key("/tmp/test.txt"),
        connector_key("local", "local-file-source"),
        topic_key("connect-test"),
        connector_key("local", "local-file-sink"),
        file_key("/tmp/test.sink.txt"),
    }


def test_the_launchpad_starts_with_the_connectors() -> None:
    for job in ("kafka_connect_pause", "kafka_connect_resume", "kafka_connect_restart"):
        config = assets.defs.resolve_job_def(job).run_config
        assert config is not None
        assert config["ops"][f"{job}_op"]["config"]["connectors"] == ["local-file-source", "local-file-sink"]


def test_the_workers_run_is_never_retried() -> None:
    job = assets.defs.resolve_job_def("connect_worker")
    assert job.tags["dagster/max_retries"] == "0"
    assert job.executor_def is dg.in_process_executor


def test_the_worker_is_this_packages_own() -> None:
    assert resources.connect_worker.command == [sys.executable, "-m", "connect_dagster.cli.worker", "distributed"]


def test_loading_it_brings_in_neither_spark_nor_the_worker() -> None:
    looked_for = {"pyspark", "uvicorn", "connect_dagster.worker.spark.session"}
    code = f"import sys, assets; print(sorted({looked_for} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"

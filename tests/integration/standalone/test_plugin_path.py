"""Workers whose plugin.path has what people put there: missing folders, wheels, jars, folders added later."""

import os
from pathlib import Path

import pytest

from tests.conftest import Broker
from tests.integration.topics import values
from tests.integration.worker_process import WorkerProcess
from tests.plugin_packages import SOURCE, distribution, write_files, write_jar, write_wheel

S3 = "io.confluent.connect.s3.source.S3SourceConnector"
MISSING = "/mnt/d/share/kafka/plugins"
LABELS = """
import importlib.metadata
import time
import pandas as pd
from pyspark.sql import functions as F
import labels
from connect_dagster.plugin.config import ConfigDef
from connect_dagster.plugin.connector import SourceConnector, SourceTask
from connect_dagster.plugin.frames import SourceFrame
from connect_dagster.plugin.schema import STRING_SCHEMA


def label_in_spark(ids: pd.Series) -> pd.Series:
    import labels.late
    return ids.map(labels.late.label)


class LabelTask(SourceTask):
    def start(self, config):
        self.topic = config["topic"]
        self.polls = 0

    def poll(self):
        self.polls += 1
        if self.polls > 3:
            time.sleep(0.1)
            return None
        label = F.pandas_udf(label_in_spark, "string")
        texts = F.concat(F.lit(f"{labels.VERSION} {importlib.metadata.version('labels')} "), label("id"))
        df = self.context.spark.range(1).select(texts.alias("value"))
        return SourceFrame(df, {}, {"polls": self.polls}, topic=self.topic, value_schema=STRING_SCHEMA)

    def stop(self): ...


class LabelConnector(SourceConnector):
    config_def = ConfigDef
    task_class = LabelTask
    def start(self, config): self.config = config
    def task_configs(self, max_tasks): return [self.config]
"""


def labels(version: str) -> dict[str, str]:
    """A distribution whose function is not the same in each version."""
    modules = {
        "labels/__init__.py": f"VERSION = '{version}'",
        "labels/late.py": "from labels import VERSION\ndef label(number): return f'{VERSION} says {number}'",
    }
    return distribution("labels", version, modules, {})


def clicks(name: str) -> tuple[str, str, dict[str, str], dict[str, str]]:
    """A distribution with one source, as `write_wheel` and `distribution` take it."""
    module = name.lower()
    return module, "2.5", {f"{module}.py": SOURCE.format(name=name)}, {name: f"{module}:{name}Connector"}


@pytest.mark.nightly
@pytest.mark.timeout(600)
def test_s4_08_s4_09_s4_11_plugins_of_two_workers(worker_props: dict[str, str], tmp_path: Path) -> None:
    plugins = tmp_path / "plugins"
    write_wheel(plugins, *clicks("Clicks"))
    jar = write_jar(plugins / "s3" / "lib" / "kafka-connect-s3.jar", S3)
    props = {"bootstrap.servers": worker_props["bootstrap.servers"], "plugin.path": f"{MISSING}, {plugins}"}
    with WorkerProcess(props, [], tmp_path / "one") as one:
        assert f"Could not get listing for plugin path: {MISSING}. Ignoring." in one.log()
        assert f"{jar} holds Java plugins, which cannot run in this worker: {S3}" in one.log()
        listed = {plugin["class"]: plugin["version"] for plugin in one.call("GET", "/connector-plugins").json}
        assert listed["clicks.ClicksConnector"] == "2.5"
        answer = one.call("POST", "/connectors", {"name": "products", "config": {"connector.class": S3}})
        assert answer.status == 400
        assert f"there is only a Java plugin of that name, in {jar}, and Java plugins cannot run" in answer.message
        # A folder added now is seen by the worker that starts after it, and by no other.
        write_files(plugins / "later", distribution(*clicks("Later")))
        create = ("POST", "/connectors", {"name": "later", "config": {"connector.class": "Later"}})
        with WorkerProcess(props, [], tmp_path / "two") as two:
            assert two.call(*create).status == 201
            two.wait_states("later", "RUNNING", "RUNNING")
            assert "Instantiated task later-0 with version 2.5 of type later.LaterTask (" in two.log()
        answer = one.call(*create)
        assert answer.status == 400
        assert "Failed to find any class that implements Connector and which name matches Later" in answer.message


@pytest.mark.nightly
def test_s4_11_connectors_with_conflicting_dependencies_side_by_side(
    worker_props: dict[str, str], broker: Broker, tmp_path: Path, topic_prefix: str
) -> None:
    for version in ("1.0", "2.0"):
        name = f"plugin{version[0]}"
        plugin = distribution(name, version, {f"{name}.py": LABELS}, {f"Labels{version[0]}": f"{name}:LabelConnector"})
        write_files(tmp_path / "plugins" / name, {**plugin, **labels(version)})
    props = {"bootstrap.servers": worker_props["bootstrap.servers"], "plugin.path": str(tmp_path / "plugins")}
    strings = {"value.converter": "org.apache.kafka.connect.storage.StringConverter"}
    with WorkerProcess(props, [], tmp_path / "worker") as worker:
        for number in (1, 2):
            config = {"connector.class": f"Labels{number}", "topic": f"{topic_prefix}{number}", **strings}
            assert worker.call("POST", "/connectors", {"name": f"labels-{number}", "config": config}).status == 201
        for number in (1, 2):
            found = values(broker.bootstrap_servers, f"{topic_prefix}{number}", 3)
            assert found == [f"{number}.0 {number}.0 {number}.0 says 0"] * 3
            worker.wait_states(f"labels-{number}", "RUNNING", "RUNNING")


@pytest.mark.nightly
def test_s4_10_a_worker_starts_as_fast_with_a_folder_like_tmp(worker_props: dict[str, str], tmp_path: Path) -> None:
    marker, like_tmp, empty = tmp_path / "marker", tmp_path / "tmp", tmp_path / "empty"
    empty.mkdir()
    evil = f"from connect_dagster.plugin import Connector\nimport pathlib\npathlib.Path({str(marker)!r}).touch()\n"
    write_files(like_tmp, {"a/evil.py": evil})
    for number in range(50_000):
        (like_tmp / f"file-{number}{('.log', '.txt', '', '.csv', '.py')[number % 5]}").touch()
    took: dict[Path, float] = {}
    for folder in (empty, like_tmp):
        props = {"bootstrap.servers": worker_props["bootstrap.servers"], "plugin.path": f"{folder}/"}
        with WorkerProcess(props, [], tmp_path / f"worker-{folder.name}") as worker:
            took[folder] = cpu_seconds(worker.pid)
    assert took[like_tmp] < took[empty] + 2
    assert not marker.exists()


def cpu_seconds(pid: int) -> float:
    """Seconds of processor time that a process has used, its children left out: the machine may be busy."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

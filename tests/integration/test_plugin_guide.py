"""The guide for connector authors: five commands lead to a connector seen in Dagster, its code does what it says."""

import json
import os
import re
import shlex
import signal
import subprocess
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import requests
from confluent_kafka.admin import AdminClient
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.embedded.ports import HOST, free_port
from connect_dagster.isolation.plugins import Plugins
from connect_dagster.java.properties import load_properties
from connect_dagster.orchestration.dagster_dev import FRESH_SIGNALS
from connect_dagster.plugin.frame_columns import FAILURE
from connect_dagster.plugin.frames import SourceFrame
from connect_dagster.rest.app import create_app
from connect_dagster.testing import fixtures
from connect_dagster.testing.contexts import (
    CollectedEnds,
    CollectedMetrics,
    CollectedReports,
    sink_batch,
    source_context,
)
from tests.conftest import Broker
from tests.guides import replaced
from tests.shipped_project import wait_until
from tests.unit.rest.asking import Asking
from tests.unit.rest.memory_herder import MemoryHerder

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "plugins.md"
TEXT = GUIDE.read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)


FIVE, LIST = (block.splitlines() for block in blocks("bash"))
TICK, CLOCK, RANGE, ORDERS, COUNT, CHANGE, COUNTED, HOURS, TESTS = blocks("python")
TOPIC = "click-counts"


@pytest.mark.nightly
@pytest.mark.timeout(1200)
def test_five_commands_to_a_connector_seen_in_dagster(broker: Broker, tmp_path: Path) -> None:
    new, test, worker, dagster, read = FIVE
    rest, ui = (f"http://{HOST}:{free_port()}" for _ in range(2))
    places = {"127.0.0.1:9092": broker.bootstrap_servers, "http://127.0.0.1:8083": rest}
    run(new, tmp_path)
    for file in (tmp_path / TOPIC).glob("*.*"):
        file.write_text(replaced(file.read_text(), places))
    assert "2 passed" in run(test, tmp_path)
    listed = run(LIST[0], tmp_path)
    assert re.search(r"click_counts\.plugin\.ClickCountsConnector +source +0\.1\.0 ", listed)
    client = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    with ExitStack() as running:
        running.enter_context(kept_running(worker, tmp_path))
        port = ui.rpartition(":")[2]
        running.enter_context(kept_running(f"{dagster} -h {HOST} -p {port}", tmp_path))
        wait_until(lambda: task_states(rest) == ["RUNNING"], "see the connector run", 600)
        wait_until(lambda: TOPIC in json.dumps(assets(ui)), f"see it in Dagster: {assets(ui)}", 60)
        wait_until(lambda: TOPIC in client.list_topics(timeout=30).topics, "see the topic", 60)
        environment = {"KAFKA_BOOTSTRAP_SERVERS": broker.bootstrap_servers}
        printed = run(f"{read} --max-messages 3", tmp_path, environment)
    assert [json.loads(json.loads(line)["payload"]) for line in printed.splitlines()] == [0, 1, 2]


def test_the_rest_extension() -> None:
    extension = defined(HOURS)["OpeningHours"]()
    extension.configure({"opening.hours": "never"})
    ask = Asking(create_app(MemoryHerder(), extensions=[extension]))
    assert ask("GET", "/connectors").status == 200
    assert ask("PUT", "/connectors/c/pause").status == 403
    extension.configure({})
    assert ask("PUT", "/connectors/c/pause").status == 404


def test_the_source() -> None:
    task = defined(TICK)["TickTask"]()
    task.context = source_context([({"clock": "wall"}, {"ticks": 6})])
    task.start({"topic": "ticks"})
    (record,) = task.poll()
    assert (record.topic, record.value, record.source_offset) == ("ticks", {"tick": 7}, {"ticks": 7})


def test_the_source_of_tables(spark: SparkSession) -> None:
    task = defined(CLOCK)["ClockTask"]()
    task.start({})
    first, second = (task.poll() for _ in range(2))
    assert [row["value"] for row in first.frame(spark).df.collect()] == [first.source_offset["time"]]
    assert second.source_offset["time"] > first.source_offset["time"]


def test_the_source_of_frames(spark: SparkSession) -> None:
    task = defined(RANGE)["RangeTask"]()
    task.context = source_context(spark=spark)
    task.start({})
    assert [task.poll().df.count() for _ in range(2)] == [1_000_000] * 2


def test_the_source_that_ends_its_transactions() -> None:
    task, ends = defined(ORDERS)["OrdersTask"](), CollectedEnds()
    task.context = source_context([({"shop": "main"}, {"order": 6})], transaction_context=ends)
    task.start({})
    whole, part = task.poll(), task.poll()
    assert [record.value for record in whole] == ["order 7", "a hat", "a coat"]
    assert (ends.commits, ends.aborts) == ([whole[-1]], [part[-1]])
    assert part[-1].source_offset == {"order": 8}


def test_the_sink(spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    task = defined(COUNT)["CountTask"]()
    task.start({})
    for _ in range(2):
        task.put(sink_batch(spark, "t", ["a", None]))
    task.stop()
    assert capsys.readouterr().out == "4 records\n"


@pytest.mark.nightly
@pytest.mark.timeout(600)
def test_the_tests_with_workers(tmp_path: Path) -> None:
    distributed = TESTS.replace("connect_worker: ", "connect_distributed_worker: ").replace(
        "    connect_worker.", "    connect_distributed_worker."
    )
    distributed = distributed.replace(" = connect_worker.", " = connect_distributed_worker.")
    for name, code in {"tick": TICK, "count": COUNT, "test_one": TESTS, "test_group": distributed}.items():
        (tmp_path / f"{name}.py").write_text(code)
    loaded = f"-p {fixtures.__name__} -p no:cacheprovider"
    assert "4 passed" in run(f".venv/bin/pytest -q {loaded} --rootdir {tmp_path} {tmp_path}", tmp_path)


def test_what_a_sink_reports(spark: SparkSession) -> None:
    reports = CollectedReports()
    (frame,) = sink_batch(spark, "t", ["a", "b", None]).frames
    reports.report_frame(frame, F.when(frame.column("value") == '"b"', "too long"))
    reports.report_frame(frame.where(frame.column("value").isNull()), "null")
    assert reports.reported == [("t", 0, 1, "too long"), ("t", 0, 2, "null")]


def test_the_transform_and_the_predicate(spark: SparkSession) -> None:
    names = defined(CHANGE)
    df = spark.createDataFrame([("7",), ("seven",), (None,), ("8" * 101,)], "value string")
    frame = SourceFrame(df, {}, {}, topic="t")
    changed = names["ToNumber"]().apply(frame).df.select("value", F.col(FAILURE)["message"]).collect()
    assert [tuple(row) for row in changed][:3] == [(7, None), (None, "not a number: seven"), (None, None)]
    assert [row[0] for row in df.select(names["IsBig"]().test(frame)).collect()] == [False, False, False, True]


def test_the_transform_with_metrics(spark: SparkSession) -> None:
    transform, metrics = defined(f"{CHANGE}\n{COUNTED}")["CountedToNumber"](), CollectedMetrics()
    transform.configure({})
    transform.with_plugin_metrics(metrics)
    transform.apply(SourceFrame(spark.createDataFrame([("7",)], "value string"), {}, {}, topic="t"))
    assert [reading.values for reading in metrics.readings(0)] == [{"plan-total": 1}]


def test_its_classes_are_plugins_that_are_found(tmp_path: Path) -> None:
    for number, code in enumerate((TICK, COUNT, CHANGE, ORDERS)):
        (tmp_path / f"block{number}.py").write_text(code)
    found = {one.class_name for one in Plugins([str(tmp_path)]).all() if one.location.startswith(str(tmp_path))}
    assert found == {
        "block0.TickConnector",
        "block1.CountConnector",
        "block2.ToNumber",
        "block2.IsBig",
        "block3.OrdersConnector",
    }


def test_the_rest_of_it(tmp_path: Path) -> None:
    (entry_point,) = blocks("toml")
    assert tomllib.loads(entry_point)["project"]["entry-points"]["connect_dagster.plugins"]
    (properties,) = blocks("properties")
    (tmp_path / "orders.properties").write_text(properties)
    config = load_properties(str(tmp_path / "orders.properties"))
    parsed = Plugins().connector(config["connector.class"]).plugin.config_def.parse(config)
    assert parsed.originals["options.path"] == "/data/orders"
    assert len(re.findall(r"^```\w", TEXT, re.MULTILINE)) == 13
    for target in re.findall(r"\]\(([^)]+)\)", TEXT):
        assert (GUIDE.parent / target).exists(), target


def defined(code: str) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(compile(code, str(GUIDE), "exec"), names)
    return names


def run(command: str, folder: Path, environment: Mapping[str, str] | None = None) -> str:
    """What a command of the guide prints."""
    program, *words = shlex.split(command)
    done = subprocess.run(
        [ROOT / program, *words],
        cwd=folder,
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


@contextmanager
def kept_running(command: str, folder: Path) -> Iterator[None]:
    """A command of the guide as in a terminal, interrupted at the end with all that it started."""
    program, *words = shlex.split(command)
    home = folder / "dagster-home"
    home.mkdir(exist_ok=True)
    log = folder / f"{Path(program).name}.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [ROOT / ".venv/bin/python", "-c", FRESH_SIGNALS, ROOT / program, *words],
            cwd=folder,
            env={**os.environ, "DAGSTER_HOME": str(home)},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield
    except BaseException as error:
        error.add_note(f"{command}\n{log.read_text(errors='replace')[-4000:]}")
        raise
    finally:
        os.killpg(process.pid, signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            process.wait(90)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def task_states(rest: str) -> list[str]:
    try:
        answer = requests.get(f"{rest}/connectors/{TOPIC}/status", timeout=5)
    except requests.RequestException:
        return []
    return [task["state"] for task in answer.json()["tasks"]] if answer.ok else []


def assets(ui: str) -> Any:
    """Keys of the assets that the UI shows."""
    query = {"query": "{ assetNodes { assetKey { path } } }"}
    try:
        return requests.post(f"{ui}/graphql", json=query, timeout=30).json()
    except (requests.RequestException, ValueError):
        return None

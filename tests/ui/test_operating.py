"""A user operates connectors in Dagster's UI, in a real browser, with a real worker: one project for all tests.

What the pages show is kept as pictures in `artifacts/ui`.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from dagster import AssetKey, AssetRecordsFilter, DagsterRunStatus, RunsFilter
from playwright.sync_api import Page, expect

from connect_dagster.client.masking import MASK
from connect_dagster.client.types import State
from connect_dagster.embedded.broker import EmbeddedBroker
from connect_dagster.orchestration.assets.keys import connector_key, file_key, topic_key
from connect_dagster.orchestration.workers.job import WORKER_JOB
from examples.demo.project import SINK, SOURCE
from tests.shipped_project import ROOT, ShippedProject, shipped_project, wait_until

PICTURES = ROOT / "artifacts" / "ui"
PLOTTED_POINTS = 20

pytestmark = [pytest.mark.timeout(900), pytest.mark.nightly]


@pytest.fixture(name="project", scope="module")
def project_fixture(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ShippedProject]:
    folder = tmp_path_factory.mktemp("ui")
    with (
        EmbeddedBroker(folder / "kafka") as broker,
        shipped_project(folder / "project", broker.bootstrap_servers) as project,
    ):
        append(project.files.access_log, "first\n")
        project.wait_running()
        wait_for_text(project.files.sink_file, "first\n")
        yield project


def test_s3_06_a_user_pauses_and_resumes_a_connector_in_the_ui(project: ShippedProject, page: Page) -> None:
    launch(page, project, "kafka_connect_pause")
    assert project.client.status(SOURCE).has_reached(State.PAUSED)
    picture(page, "paused")
    before = project.files.sink_file.read_text()
    append(project.files.access_log, "second\n")

    launch(page, project, "kafka_connect_resume")
    assert project.client.status(SINK).has_reached(State.RUNNING)
    wait_for_text(project.files.sink_file, f"{before}second\n")


def test_s3_08_file_connectors_and_topic_are_one_visible_lineage(project: ShippedProject, page: Page) -> None:
    line = [
        file_key(str(project.files.access_log)),
        connector_key("local", SOURCE),
        topic_key("connect-test"),
        connector_key("local", SINK),
        file_key(str(project.files.sink_file)),
    ]
    edges = lineage(page, project)
    assert [edges[key] for key in line] == [set(), *({key} for key in line[:-1])]
    # Wide enough for nodes that tell more than their name.
    page.set_viewport_size({"width": 2200, "height": 900})
    page.goto(f"{project.ui_url}/asset-groups")
    page.get_by_text("Hide navigation").click()
    for name in ("access.log", SOURCE, "connect-test", SINK, "test.sink.txt", "requests_by_status", "connect-offsets"):
        expect(page.get_by_text(name, exact=True).first).to_be_visible()
    expect(page.get_by_text("Materialized", exact=True).nth(1)).to_be_visible()
    picture(page, "lineage")


def test_the_materialize_button_brings_a_connector_to_its_state(project: ShippedProject, page: Page) -> None:
    project.client.delete(SOURCE)
    show_asset(page, project, connector_key("local", SOURCE))
    page.get_by_role("button", name="Materialize").first.click()
    wait_until(
        lambda: bool(materializations(project, connector_key("local", SOURCE))), "see the connector materialised", 180
    )
    project.wait_state(State.RUNNING, SOURCE, timeout=60)
    page.reload()
    expect(page.get_by_text("Metadata", exact=True).first).to_be_visible()
    for text in ("tasks_running", "connector.class", "worker_id"):
        expect(page.get_by_text(text).first).to_be_visible()
    picture(page, "connector")


def test_a_failed_task_is_restarted_without_a_hand(project: ShippedProject, page: Page) -> None:
    file = project.files.sink_file
    kept = file.rename(file.with_suffix(".kept"))
    file.mkdir()
    project.client.restart(SINK, only_failed=False)
    wait_until(lambda: project.client.status(SINK).tasks_in(State.FAILED) == 1, "see the sink's task FAILED", 60)
    show_asset(page, project, connector_key("local", SINK))
    wait_until(lambda: "FAILED" in shown(page), "see FAILED in the UI", 120)
    picture(page, "failed")

    file.rmdir()
    kept.rename(file)
    project.wait_state(State.RUNNING, SINK)
    page.goto(f"{project.ui_url}/runs")
    expect(page.get_by_text("kafka_connect_restart").first).to_be_visible()
    picture(page, "restarted")
    runs = project.instance.get_runs(RunsFilter(job_name="kafka_connect_restart"))
    assert runs
    assert all("dagster/sensor_name" in run.tags for run in runs), "the sensor launched it, nobody else"


def test_s3_03_no_secret_is_stored_or_shown(project: ShippedProject, page: Page) -> None:
    name = "customers"
    config = {
        "name": name,
        "connector.class": "FileStreamSource",
        "file": str(project.files.directory / "customers.txt"),
        "topic": "mysql-customers",
        "connection.url": "jdbc:mysql://db.example:3306/kafkadb?user=kafka&password=kafka123",
        "database.user": "connect_user",
        "database.password": "connect_dev",
    }
    project.client.create(config, "RUNNING")
    project.wait_state(State.RUNNING, name)
    assert "kafka123" in str(project.client.connectors()[name].info.config), "REST itself tells, as Java's does"
    key = connector_key("local", name)
    wait_until(lambda: bool(observations(project, key)), "see the connector observed", 120)
    launch(page, project, "kafka_connect_restart")
    # Declared nowhere, it has no definition to show, but events.
    page.goto(f"{project.ui_url}/assets/{'/'.join(key.path)}?view=events")
    for readable in ("connect_user", f"user=kafka&password={MASK}", "db.example:3306", "database.password"):
        expect(page.get_by_text(readable).first).to_be_visible()
    pages = [page.content()]
    page.goto(f"{project.ui_url}/runs/{newest_run(project)}")
    expect(page.get_by_text("RUN_SUCCESS").first).to_be_visible()
    pages.append(page.content())
    project.client.delete(name)
    stored = {path: path.read_bytes() for path in project.files.home.rglob("*") if path.is_file()}
    for word in ("kafka123", "connect_dev"):
        assert [path for path, content in stored.items() if word.encode() in content] == []
        assert not any(word in content for content in pages)


def test_numbers_are_plotted_over_time(project: ShippedProject, page: Page) -> None:
    key = connector_key("local", SOURCE)
    for number in range(PLOTTED_POINTS * 3):
        if len(observations(project, key)) >= PLOTTED_POINTS:
            break
        append(project.files.access_log, f"line {number}\n")
        page.wait_for_timeout(5000)
    assert len(observations(project, key)) >= PLOTTED_POINTS
    page.set_viewport_size({"width": 1600, "height": 1600})
    show_asset(page, project, key)
    page.get_by_text("Plots", exact=True).click()
    for label in ("offset_total", "records_per_second", "restarts_total", "tasks_failed"):
        expect(page.get_by_text(label, exact=True).first).to_be_visible()
    expect(page.locator("canvas").nth(3)).to_be_visible()
    picture(page, "plots")


def test_s3_10_terminate_in_the_ui_stops_the_worker_for_good(project: ShippedProject, page: Page) -> None:
    run_id = project.worker_run().dagster_run.run_id
    page.goto(f"{project.ui_url}/runs/{run_id}")
    page.get_by_role("button", name=re.compile("Terminate$")).first.click()
    page.get_by_role("dialog").get_by_role("button", name=re.compile("^Terminate")).click()
    project.wait_run_status(run_id, DagsterRunStatus.CANCELED)
    assert not project.client.is_alive()
    ticks = keepalive_ticks(project)
    wait_until(lambda: keepalive_ticks(project) >= ticks + 3, "see the keep-alive sensor tick three times", 120)
    assert project.worker_run().dagster_run.run_id == run_id
    assert not project.client.is_alive()
    picture(page, "terminated")


def lineage(page: Page, project: ShippedProject) -> dict[AssetKey, set[AssetKey]]:
    """Return the parents of each asset, as the lineage page queries them."""
    query = "{ assetNodes { assetKey { path } dependencyKeys { path } } }"
    nodes = page.request.post(f"{project.ui_url}/graphql", data={"query": query}).json()["data"]["assetNodes"]
    return {
        AssetKey(node["assetKey"]["path"]): {AssetKey(parent["path"]) for parent in node["dependencyKeys"]}
        for node in nodes
    }


def keepalive_ticks(project: ShippedProject) -> int:
    """Return the number of finished ticks of the sensor that keeps the worker alive."""
    for state in project.instance.all_instigator_state():
        if state.instigator_name == f"{WORKER_JOB}__keepalive_sensor":
            return len(project.instance.get_ticks(state.instigator_origin_id, state.selector_id, limit=1000))
    return 0


def launch(page: Page, project: ShippedProject, job: str) -> None:
    """Launch a job as the Launchpad offers it, and wait on the run's page until it succeeded."""
    page.goto(f"{project.ui_url}/locations/connect_dagster/jobs/{job}/playground")
    expect(page.get_by_text(SOURCE).first).to_be_visible()
    button = page.get_by_role("button", name="Launch Run")
    expect(button).to_be_enabled()
    button.click()
    page.wait_for_url(re.compile("/runs/"))
    expect(page.get_by_text("RUN_SUCCESS").first).to_be_visible()


def show_asset(page: Page, project: ShippedProject, key: AssetKey) -> None:
    page.goto(f"{project.ui_url}/assets/{'/'.join(key.path)}")
    expect(page.get_by_text("Asset history").first).to_be_visible()


def shown(page: Page) -> str:
    """The text of a page, loaded anew."""
    page.reload()
    expect(page.get_by_text("Metadata", exact=True).first).to_be_visible()
    page.wait_for_timeout(1000)
    return page.inner_text("body")


def observations(project: ShippedProject, key: AssetKey) -> Sequence[object]:
    return project.instance.fetch_observations(AssetRecordsFilter(key), limit=1000).records


def materializations(project: ShippedProject, key: AssetKey) -> Sequence[object]:
    return project.instance.fetch_materializations(AssetRecordsFilter(key), limit=1000).records


def newest_run(project: ShippedProject) -> str:
    finished = RunsFilter(job_name="kafka_connect_restart", statuses=[DagsterRunStatus.SUCCESS])
    return project.instance.get_runs(finished, limit=1)[0].run_id


def picture(page: Page, name: str) -> None:
    """Keep what the page shows, for a person to look at."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=PICTURES / f"{name}.png")


def append(file: Path, text: str) -> None:
    with file.open("a") as end:
        end.write(text)


def wait_for_text(file: Path, text: str) -> None:
    wait_until(lambda: file.exists() and file.read_text() == text, f"find {text!r} in {file.name}", 60)

"""A user pauses and resumes a connector in Dagster's UI, in a real browser, on a running worker."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect, sync_playwright

from connect_dagster.cli.demo.project import SINK, SOURCE
from connect_dagster.embedded.broker import EmbeddedBroker
from connect_dagster.orchestration.records import State
from tests.shipped_project import ROOT, ShippedProject, shipped_project, wait_until

CHROMIUM = "/usr/bin/chromium"
# Without the background flags Chromium looks up hosts of its vendor at every start.
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
PICTURES = ROOT / "artifacts" / "ui"
PATIENCE_MS = 120_000


@pytest.fixture(name="project")
def project_fixture(tmp_path: Path, own_broker: EmbeddedBroker) -> Iterator[ShippedProject]:
    with shipped_project(tmp_path / "project", own_broker.bootstrap_servers) as project:
        project.wait_running()
        yield project


@pytest.fixture(name="page")
def page_fixture() -> Iterator[Page]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        page = browser.new_page(viewport={"width": 1600, "height": 900})
        page.set_default_timeout(PATIENCE_MS)
        yield page
        browser.close()


@pytest.mark.timeout(900)
def test_s3_06_a_user_pauses_and_resumes_a_connector_in_the_ui(project: ShippedProject, page: Page) -> None:
    append(project.files.access_log, "first\n")
    wait_for_text(project.files.sink_file, "first\n")

    launch(page, project, "kafka_connect_pause")
    assert project.client.status(SOURCE).has_reached(State.PAUSED)
    picture(page, "paused")
    append(project.files.access_log, "second\n")

    launch(page, project, "kafka_connect_resume")
    assert project.client.status(SINK).has_reached(State.RUNNING)
    wait_for_text(project.files.sink_file, "first\nsecond\n")

    see_the_lineage(page, project)


def launch(page: Page, project: ShippedProject, job: str) -> None:
    """Launch a job as the Launchpad offers it, and wait on the run's page until it succeeded."""
    page.goto(f"{project.ui_url}/locations/connect_dagster/jobs/{job}/playground")
    expect(page.get_by_text(SOURCE).first).to_be_visible(timeout=PATIENCE_MS)
    button = page.get_by_role("button", name="Launch Run")
    expect(button).to_be_enabled(timeout=PATIENCE_MS)
    button.click()
    page.wait_for_url(re.compile("/runs/"))
    expect(page.get_by_text("RUN_SUCCESS").first).to_be_visible(timeout=PATIENCE_MS)


def see_the_lineage(page: Page, project: ShippedProject) -> None:
    """The graph shows file, connectors and topic, the written ones materialised."""
    # Wide enough for nodes that tell more than their name.
    page.set_viewport_size({"width": 1900, "height": 640})
    page.goto(f"{project.ui_url}/asset-groups")
    page.get_by_text("Hide navigation").click()
    for name in ("access.log", SOURCE, "connect-test", SINK, "test.sink.txt"):
        expect(page.get_by_text(name, exact=True).first).to_be_visible(timeout=PATIENCE_MS)
    expect(page.get_by_text("Materialized", exact=True)).to_have_count(2, timeout=PATIENCE_MS)
    picture(page, "lineage")


def picture(page: Page, name: str) -> None:
    """Keep what the page shows, for a person to look at."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=PICTURES / f"{name}.png")


def append(file: Path, text: str) -> None:
    with file.open("a") as end:
        end.write(text)


def wait_for_text(file: Path, text: str) -> None:
    wait_until(lambda: file.exists() and file.read_text() == text, f"find {text!r} in {file.name}", 60)

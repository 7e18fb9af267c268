"""A user observes a topic in Dagster's UI, in a real browser, with a real broker and without a worker."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from confluent_kafka import Producer
from dagster import AssetRecordsFilter, DagsterInstance, DagsterRunStatus, RunsFilter
from playwright.sync_api import Page, expect

from connect_dagster.embedded.broker import EmbeddedBroker
from connect_dagster.embedded.ports import free_port
from connect_dagster.orchestration.assets.keys import topic_key
from connect_dagster.orchestration.dagster_dev import DagsterDev
from tests.integration.topics import create
from tests.shipped_project import ROOT, START_SECONDS, wait_until

PICTURES = ROOT / "artifacts" / "ui"
TOPIC = "orders"
SUCCESSFUL = RunsFilter(statuses=[DagsterRunStatus.SUCCESS])
DEFINITIONS = """\
import dagster as dg
from connect_dagster import KafkaConnectWorkspace, build_kafka_topic_assets

workspace = KafkaConnectWorkspace(bootstrap_servers="{servers}")
orders = build_kafka_topic_assets(workspace=workspace, topics=["orders"])
report = dg.AssetSpec("report", deps=[orders])
defs = dg.Definitions(assets=[orders, report])
"""
# Of the builder's call.
LINE = 1 + next(number for number, line in enumerate(DEFINITIONS.splitlines()) if line.startswith("orders"))

pytestmark = [pytest.mark.timeout(600), pytest.mark.nightly]


@dataclass(frozen=True, slots=True)
class Project:
    """A running Dagster with the topic, its broker, and what it recorded."""

    ui_url: str
    servers: str
    instance: DagsterInstance

    def send(self, *values: bytes) -> None:
        """Write records to partition 0 of the topic."""
        producer = Producer({"bootstrap.servers": self.servers})
        for value in values:
            producer.produce(TOPIC, value, partition=0)
        assert producer.flush(30) == 0

    def observations(self) -> int:
        """Return how often the topic was observed."""
        return len(self.instance.fetch_observations(AssetRecordsFilter(topic_key(TOPIC)), limit=100).records)


@pytest.fixture(name="project", scope="module")
def project_fixture(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    folder = tmp_path_factory.mktemp("observing")
    home = folder / "dagster"
    home.mkdir()
    shutil.copy(ROOT / "dagster.yaml", home)
    workspace = folder / "workspace.yaml"
    workspace.write_text(f"load_from:\n  - python_file: {folder / 'definitions.py'}\n")
    with EmbeddedBroker(folder / "kafka") as broker:
        create(broker.bootstrap_servers, TOPIC, 2)
        (folder / "definitions.py").write_text(DEFINITIONS.format(servers=broker.bootstrap_servers))
        # The instance first: two that make the same database at once are in each other's way.
        with (
            DagsterInstance.from_config(str(home)) as instance,
            DagsterDev(home, workspace, free_port(), {}) as dagster,
        ):
            dagster.wait_ready(START_SECONDS)
            yield Project(dagster.url, broker.bootstrap_servers, instance)


def test_the_observe_button_reads_a_topic(project: Project, page: Page) -> None:
    project.send(b"x" * 1000, b"y" * 1000)
    observe(project, page)
    page.reload()
    for text in ("end_offset_total", "partition_count", "size_bytes", "newest_record_age_seconds", "start_offset"):
        expect(page.get_by_text(text, exact=True).first).to_be_visible()
    expect(page.locator(f"a[href$='definitions.py:{LINE}']")).to_be_visible()
    picture(page, "observed")

    project.send(b"z")
    observe(project, page)
    page.get_by_text("Plots", exact=True).click()
    expect(page.get_by_text("end_offset_total", exact=True).first).to_be_visible()
    expect(page.locator("canvas").nth(1)).to_be_visible()
    picture(page, "observed-plots")
    newest = project.instance.fetch_observations(AssetRecordsFilter(topic_key(TOPIC)), limit=1).records[0]
    assert newest.asset_observation is not None
    assert newest.asset_observation.metadata["end_offset_total"].value == 3


def observe(project: Project, page: Page) -> None:
    """Press the button on the topic's page, and wait until the topic is observed and the run has ended."""
    before, runs = project.observations(), project.instance.get_runs_count(SUCCESSFUL)
    page.goto(f"{project.ui_url}/assets/{'/'.join(topic_key(TOPIC).path)}")
    button = page.get_by_role("button", name="Observe")
    expect(button.first).to_be_enabled()
    button.first.click()
    wait_until(lambda: project.observations() > before, "see the topic observed", 180)
    wait_until(lambda: project.instance.get_runs_count(SUCCESSFUL) > runs, "see the run succeed", 60)


def picture(page: Page, name: str) -> None:
    """Keep what the page shows, for a person to look at."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=PICTURES / f"{name}.png")

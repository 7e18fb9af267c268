"""A location whose cluster is down, or refuses: it loads, and the UI says in one sentence what is wrong."""

import re
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from connect_dagster.embedded.ports import free_port
from connect_dagster.orchestration.dagster_dev import DagsterDev
from tests.shipped_project import ROOT, START_SECONDS

pytestmark = [pytest.mark.timeout(600), pytest.mark.nightly]

DEFINITIONS = """\
import dagster as dg
from connect_dagster import FileStreamSourceResource, KafkaConnectWorkspace, build_connector_definitions

workspace = KafkaConnectWorkspace(url="http://127.0.0.1:{port}", request_max_retries=0)
source = FileStreamSourceResource(workspace=workspace, name="lines", file="/tmp/lines.txt", topic="lines")
defs = build_connector_definitions(source, minimum_interval_seconds=5)
"""


@pytest.fixture(name="port", scope="module")
def port_fixture() -> int:
    """Where nobody listens."""
    return free_port()


@pytest.fixture(name="ui_url", scope="module")
def ui_url_fixture(tmp_path_factory: pytest.TempPathFactory, port: int) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("unreachable")
    shutil.copy(ROOT / "dagster.yaml", folder)
    (folder / "definitions.py").write_text(DEFINITIONS.format(port=port))
    workspace = folder / "workspace.yaml"
    workspace.write_text(f"load_from:\n  - python_file: {folder / 'definitions.py'}\n")
    with DagsterDev(folder, workspace, free_port(), {}) as dagster:
        dagster.wait_ready(START_SECONDS)
        yield dagster.url


def test_a_job_says_in_one_sentence_that_nobody_answers(ui_url: str, port: int, page: Page) -> None:
    page.goto(f"{ui_url}/locations/definitions.py/jobs/kafka_connect_pause/playground")
    button = page.get_by_role("button", name="Launch Run")
    expect(button).to_be_enabled()
    button.click()
    page.wait_for_url(re.compile("/runs/"))
    expect(page.get_by_text("RUN_FAILURE").first).to_be_visible()
    expect(page.get_by_text(f"No Kafka Connect worker responds at http://127.0.0.1:{port}").first).to_be_visible()


def test_a_sensor_says_so_and_does_not_fail(ui_url: str, port: int, page: Page) -> None:
    page.goto(f"{ui_url}/locations/definitions.py/sensors/kafka_connect_local__lines_sensor")
    page.get_by_role("button", name="0 runs requested").first.click()
    expect(page.get_by_text(f"No Kafka Connect worker responds at http://127.0.0.1:{port}").first).to_be_visible()
    assert "Failure" not in page.inner_text("body")

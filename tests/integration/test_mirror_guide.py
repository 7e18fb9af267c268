"""The guide to mirroring: its clusters, its file and its commands do what the page says, in both directions."""

import json
import re
import shlex
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from connect_dagster.connectors.mirror.source_config import MirrorSourceConfig
from connect_dagster.embedded.ports import free_port
from tests.guides import replaced, running
from tests.integration.mirror.clusters import Cluster, eventually

pytestmark = [pytest.mark.timeout(600), pytest.mark.nightly]

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "mirror.md").read_text(encoding="utf-8")
BLOCKS = [block.splitlines() for block in re.findall(r"```bash\n(.*?)```", TEXT, re.DOTALL)]
BROKERS, (START,), WRITE_AND_READ, (STATUS,), (CHECK,), (TRANSLATE,) = BLOCKS
FILE, BACK, SHARED, ONCE = re.findall(r"```properties\n(.*?)```", TEXT, re.DOTALL)
(CONNECTOR,) = re.findall(r"```json\n(.*?)```", TEXT, re.DOTALL)
(LIBRARY,) = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
QUICK = "spark.driver.extraJavaOptions=-XX:TieredStopAtLevel=1\n"


@dataclass(frozen=True, slots=True)
class Guided:
    """The guide's clusters and process, at other places."""

    folder: Path
    places: dict[str, str]

    @property
    def eu(self) -> Cluster:
        return Cluster(self.places["127.0.0.1:19091"])

    @property
    def us(self) -> Cluster:
        return Cluster(self.places["127.0.0.1:19092"])

    def run(self, command: str) -> "subprocess.CompletedProcess[str]":
        """Run a line of the guide in a shell."""
        moved = replaced(command, {**self.places, ".venv/bin/": f"{ROOT}/.venv/bin/"})
        return subprocess.run(
            moved, shell=True, cwd=self.folder, capture_output=True, text=True, timeout=120, check=False
        )

    def output(self, command: str) -> str:
        ran = self.run(command)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout


def started(command: str, places: dict[str, str], folder: Path) -> list[str | Path]:
    program, *words = shlex.split(replaced(command, places))
    return [ROOT / program, *(str(folder / word) if word in ("eu", "us", "mm2.properties") else word for word in words)]


@pytest.fixture(scope="module")
def guided(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guided]:
    folder = tmp_path_factory.mktemp("mirror-guide")
    eu, us = str(free_port()), str(free_port())
    places = {
        "127.0.0.1:19091": f"127.0.0.1:{eu}",
        "127.0.0.1:19092": f"127.0.0.1:{us}",
        "19091": eu,
        "19092": us,
        "18083": str(free_port()),
    }
    (folder / "mm2.properties").write_text(replaced(FILE + BACK + SHARED + ONCE, places) + QUICK)
    found = Guided(folder, places)
    with ExitStack() as stack:
        for name, command in zip(("eu", "us"), BROKERS, strict=True):
            (folder / f"log-{name}").mkdir()
            stack.enter_context(running(started(command, places, folder), folder / f"log-{name}"))
        for cluster in (found.eu, found.us):
            eventually(lambda: cluster.admin.list_topics(timeout=5).brokers != {}, "the broker is up", 120)  # noqa: B023
        stack.enter_context(running(started(START, places, folder), folder))
        yield found


def test_a_record_goes_over(guided: Guided) -> None:
    write, read = WRITE_AND_READ
    guided.output(write)
    eventually(lambda: guided.us.partitions("eu.orders") == 1, "the topic is mirrored", 120)
    assert guided.output(read) == "first\n"
    header, *flows = guided.output(STATUS).splitlines()
    assert header.split()[:3] == ["FLOW", "TOPICS", "LAG"]
    assert sorted(line.split()[0] for line in flows) == ["eu->us", "us->eu"]


def test_the_other_direction(guided: Guided) -> None:
    guided.us.create("orders")
    guided.us.produce("orders", [{"value": b"from us"}])
    eventually(lambda: guided.eu.partitions("us.orders") == 1, "the topic is mirrored", 120)
    assert guided.eu.read("us.orders", {0: 1})[0][0].value == b"from us"
    names = {*guided.eu.admin.list_topics(timeout=5).topics, *guided.us.admin.list_topics(timeout=5).topics}
    assert not names & {"us.eu.orders", "eu.us.orders"}


def test_a_group_moves(guided: Guided) -> None:
    guided.eu.produce("orders", ({"value": str(number).encode()} for number in range(200)))
    end = guided.eu.ends("orders")[0]
    guided.eu.commit("billing", {("orders", 0): end})
    eventually(lambda: guided.us.committed("billing", "eu.orders") > 0, "the group has its offsets", 120)
    copied = guided.us.ends("eu.orders")[0]  # with the ends of transactions
    assert guided.us.committed("billing", "eu.orders") <= copied
    eventually(lambda: guided.run(CHECK).returncode == 0, "the group can move", 120)
    topic, partition, offset = guided.output(TRANSLATE).splitlines()[1].split()
    assert (topic, partition) == ("eu.orders", "0")
    assert 0 < int(offset) <= copied
    names: dict[str, Any] = {}
    exec(replaced(LIBRARY, guided.places), names)
    assert names["client"].replication_hops("eu") == 1


def test_the_connectors_configuration_is_valid() -> None:
    config = json.loads(CONNECTOR)
    errors = {value.name: value.errors for value in MirrorSourceConfig.validate_all(config) if value.errors}
    assert errors == {}


def test_names_of_the_page_are_options() -> None:
    known = {key.name for key in MirrorSourceConfig.table()}
    for name in ("refresh.topics.interval.seconds", "config.properties.exclude", "offset.lag.max"):
        assert f"`{name}`" in TEXT
        assert name in known

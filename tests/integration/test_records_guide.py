"""The guide to records: its commands do what it says, its settings are valid, its links lead somewhere."""

import json
import os
import re
import shlex
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import requests

from connect_dagster.embedded.ports import free_port
from connect_dagster.isolation.plugins import Plugins
from connect_dagster.java.properties import load_properties
from tests.conftest import Broker
from tests.guides import await_content, moved, replaced, running

pytestmark = pytest.mark.timeout(600)

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "records.md"
TEXT = GUIDE.read_text(encoding="utf-8")
((WORKER, READ, PREVIEW, DEAD, REPLAY),) = (
    block.splitlines() for block in re.findall(r"```bash\n(.*?)```", TEXT, re.DOTALL)
)
SETTINGS = re.findall(r"```properties\n(.*?)```", TEXT, re.DOTALL)
OF_SINKS = ("consumer.", "value.converter=io")


@dataclass(frozen=True, slots=True)
class Guided:
    """The guide's worker, at other places."""

    places: dict[str, str]
    folder: Path

    @property
    def rest(self) -> str:
        return f"http://{self.places['127.0.0.1:8083']}"

    def run(self, command: str, *more: str) -> subprocess.CompletedProcess[str]:
        """A command of the guide."""
        program, *words = shlex.split(replaced(command, self.places))
        named = {"KAFKA_BOOTSTRAP_SERVERS": self.places["127.0.0.1:9092"], "CONNECT_DAGSTER_REST_URL": self.rest}
        return subprocess.run(
            [ROOT / program, *words, *more],
            env={**os.environ, **named},
            capture_output=True,
            text=True,
            timeout=120,
        )


@pytest.fixture(scope="module")
def guided(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guided]:
    folder = tmp_path_factory.mktemp("records")
    orders = f"{folder.parent.name}-{os.getpid()}-orders"
    places = {
        "127.0.0.1:9092": broker.bootstrap_servers,
        "127.0.0.1:8083": f"127.0.0.1:{free_port()}",
        "/tmp/": f"{folder}/",
        **{f"{before}orders{after}": f"{before}{orders}{after}" for before, after in (("=", "\n"), ("=", "-"))},
        "'orders-small'": f"'{orders}-small'",
        "read orders ": f"read {orders} ",
        "--connector orders": f"--connector {orders}",
        "=examples/": f"={ROOT}/examples/",
    }
    program, *files = shlex.split(WORKER)
    with running([ROOT / program, *(moved(ROOT / file, folder, places) for file in files)], folder):
        await_content(folder / "orders.txt", b"desk\n")
        yield Guided(places, folder)


@pytest.mark.nightly
def test_the_good_ones_go_on_and_the_bad_one_is_a_dead_letter(guided: Guided) -> None:
    read = guided.run(READ, "--max-messages", "2")
    rows = [json.loads(line)["payload"] for line in read.stdout.splitlines()]
    assert [(row["id"], row["item"], row["country_name"], row["card"], row["shop"]) for row in rows] == [
        (1, "lamp", "대한민국", "****", "Seoul"),
        (2, "desk", "Deutschland", "****", "Seoul"),
    ]
    deadline = time.monotonic() + 120
    while len((listed := guided.run(DEAD)).stdout.splitlines()) < 2:
        assert time.monotonic() < deadline, listed
    (line,) = listed.stdout.splitlines()[1:]
    assert "TRANSFORMATION  SparkRuntimeException  [CANNOT_PARSE_JSON_FIELD] Cannot parse the field name 'id'" in line
    orders = replaced(READ, guided.places).split()[3]
    assert guided.run(REPLAY).stdout.endswith(f"to {orders}\n")
    program, command, *files = shlex.split(PREVIEW)
    previewed = guided.run(f"{program} {command}", *(str(guided.folder / Path(file).name) for file in files))
    lines = [json.loads(line) for line in previewed.stdout.splitlines()]
    assert [(line["outcome"], line["offset"], line.get("value")) for line in lines] == [
        ("dropped", 0, None),
        ("put", 1, "desk"),
    ]
    small = guided.run(
        ".venv/bin/connect-dagster topic read", f"{orders}-small", "--from-beginning", "--max-messages=1"
    )
    assert json.loads(small.stdout)["payload"]["item"] == "pen"


@pytest.mark.nightly
@pytest.mark.parametrize("settings", SETTINGS, ids=lambda text: text.splitlines()[0])
def test_its_settings_are_valid(guided: Guided, tmp_path: Path, settings: str) -> None:
    (tmp_path / "c.properties").write_text(replaced(settings, {"=examples/": f"={ROOT}/examples/"}))
    # The store of the example is on no machine.
    given = {
        name: value
        for name, value in load_properties(str(tmp_path / "c.properties")).items()
        if ".ssl.truststore" not in name
    }
    sink = any(text in settings for text in OF_SINKS)
    plugin = "FileStreamSink" if sink else "FileStreamSource"
    own = {"name": "c", "connector.class": plugin, "file": "/f", **({"topics": "t"} if sink else {"topic": "t"})}
    answer = requests.put(
        f"{guided.rest}/connector-plugins/{plugin}/config/validate", json={**own, **given}, timeout=60
    )
    wrong = [one["value"] for one in answer.json()["configs"] if one["value"]["errors"]]
    assert wrong == []


def test_its_classes_are_those_there_are() -> None:
    known = {one.class_name for one in Plugins().all()}
    named = set(re.findall(r"`?((?:org\.apache\.kafka\.connect|io\.confluent)\.[\w.]+\.[A-Z]\w+(?:\$\w+)?)", TEXT))
    assert named <= known
    listed = TEXT.partition("All transforms of Kafka are there: ")[2].partition("; and")[0]
    ours = {name.rpartition(".")[2].partition("$")[0] for name in known if ".kafka.connect.transforms." in name}
    assert set(re.findall(r"\w+", listed)) == {name for name in ours if name not in predicates(known)}


def predicates(known: set[str]) -> set[str]:
    """Simple names of Kafka's predicates."""
    return {name.rpartition(".")[2] for name in known if ".transforms.predicates." in name}


def test_its_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)]+)\)", TEXT):
        assert (GUIDE.parent / target).exists(), target

"""`connect-dagster list`, `status`, `pause`, …: verbs on connectors, at a served worker."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from click.testing import CliRunner, Result

from connect_dagster.cli.main import LazyGroup, main
from connect_dagster.errors import BadRequestError
from connect_dagster.plugin.records import TopicPartition
from connect_dagster.protocol.states import TargetState, TaskId
from connect_dagster.worker.metrics.tasks import TaskPlugins
from tests.unit.orchestration.connect_server import CLASS, ConnectServer, connect_server

NOBODY = "http://127.0.0.1:9"


@pytest.fixture(name="server")
def server_fixture() -> Iterator[ConnectServer]:
    with connect_server() as server:
        server.create("src", topic="lines", database_password="geheim99")
        server.create("snk", TargetState.PAUSED, topics="lines")
        yield server


def run(server: ConnectServer, *words: str) -> Result:
    return CliRunner(env={"CONNECT_DAGSTER_REST_URL": server.workspace.url}).invoke(main, words)


def test_list_prints_name_type_and_class(server: ConnectServer) -> None:
    ran = run(server, "list")
    assert (ran.exit_code, ran.stdout.splitlines()) == (
        0,
        ["NAME  TYPE    CLASS", f"snk   sink    {CLASS}", f"src   source  {CLASS}"],
    )
    assert json.loads(run(server, "list", "-J").stdout)[0] == {"name": "snk", "type": "sink", "class": CLASS}


def test_status_prints_a_line_for_each_task(server: ConnectServer) -> None:
    ran = run(server, "status")
    assert ran.exit_code == 0
    assert ran.stdout.splitlines() == [
        "CONNECTOR  TYPE    STATE    WORKER          WHY",
        "snk        sink    PAUSED   127.0.0.1:8083",
        "  task 0           PAUSED   127.0.0.1:8083",
        "src        source  RUNNING  127.0.0.1:8083",
        "  task 0           RUNNING  127.0.0.1:8083",
    ]


def test_status_of_what_failed_tells_why_without_secrets_and_exits_with_1(server: ConnectServer) -> None:
    server.herder.fail("src", trace="java.sql.SQLException: 'geheim99' is wrong\n\tat x.Y(Z.java:1)")
    ran = run(server, "status", "src")
    assert ran.exit_code == 1
    assert ran.stdout.splitlines()[2] == (
        "  task 0           FAILED   127.0.0.1:8083  java.sql.SQLException: '********' is wrong"
    )
    as_json = run(server, "status", "src", "--json")
    assert json.loads(as_json.stdout)["src"]["tasks"][0]["state"] == "FAILED"
    assert "geheim99" not in as_json.stdout


def test_status_has_the_backlog_of_a_sink(server: ConnectServer) -> None:
    place = TopicPartition("lines", 0)
    task = server.herder.measured.sink_task(TaskId("snk", 0), TaskPlugins({"task-class": "x.Sink"}))
    task.put_ended(20, 100, 100, None)
    task.moved_to({place: 100}, {})
    task.ends_seen({place: 90_000})
    ran = run(server, "status")
    assert ran.exit_code == 0
    heading, row = ran.stdout.partition("\n\n")[2].splitlines()
    assert heading.split() == ["CONNECTOR", "PART", "PROGRESS"]
    assert re.fullmatch(r"snk +task 0  89900 records behind, [\d.]+ records/s, about [\d.]+ (s|min|h) left", row)
    as_json = json.loads(run(server, "status", "--json").stdout)
    assert (as_json["src"]["progress"], as_json["snk"]["progress"][0]["left"]) == ([], 89_900)
    described = run(server, "describe", "snk")
    assert "\n\nProgress:\ntask 0  89900 records behind, " in described.stdout


def test_status_does_without_metrics_that_are_refused(server: ConnectServer, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> list[Any]:
        raise BadRequestError("no metrics for you")

    monkeypatch.setattr(server.herder, "metrics", refuse)
    ran = run(server, "status", "src")
    assert (ran.exit_code, len(ran.stdout.splitlines())) == (0, 3)


def test_verbs_say_where_the_connectors_are(server: ConnectServer) -> None:
    assert run(server, "pause", "src", "snk").stdout == "src: PAUSED, task 0 PAUSED\nsnk: PAUSED, task 0 PAUSED\n"
    assert run(server, "stop", "src").stdout == "src: STOPPED\n"
    assert run(server, "resume", "src", "snk").stdout == "src: RUNNING, task 0 RUNNING\nsnk: RUNNING, task 0 RUNNING\n"
    assert run(server, "delete", "src").stdout == "src: deleted\n"
    assert list(server.herder.configs) == ["snk"]


def test_restart_goes_to_what_failed_and_leaves_pauses(server: ConnectServer) -> None:
    server.herder.fail("src")
    ran = run(server, "restart", "src", "snk")
    assert (ran.exit_code, ran.stdout) == (0, "src: RUNNING, task 0 RUNNING\nsnk: PAUSED, task 0 PAUSED\n")
    assert run(server, "restart", "--all-tasks", "src").exit_code == 0
    assert [getattr(one, "only_failed", None) for one in server.herder.restarts] == [True, True, False]


def test_one_task_is_restarted(server: ConnectServer) -> None:
    ran = run(server, "restart", "src", "--task", "0")
    assert (ran.exit_code, ran.stdout) == (0, "src: RUNNING, task 0 RUNNING\n")
    assert server.herder.restarts == [TaskId("src", 0)]
    ran = run(server, "restart", "src", "snk", "--task", "7")
    assert (ran.exit_code, ran.stderr.splitlines()[-1]) == (
        2,
        "Error: src, snk has no task 7; `connect-dagster status` shows those that there are.",
    )
    assert run(server, "restart", "src", "--task", "0", "--all-tasks").exit_code == 2


def test_names_may_be_regular_expressions(server: ConnectServer) -> None:
    assert run(server, "pause", "-e", "s.c", ".*k").stdout == (
        "src: PAUSED, task 0 PAUSED\nsnk: PAUSED, task 0 PAUSED\n"
    )
    assert run(server, "delete", "--reg-exp", "s.*").stdout == "snk: deleted\nsrc: deleted\n"
    ran = run(server, "resume", "-e", "s.*")
    assert (ran.exit_code, ran.stderr) == (2, "Error: s.* matches no connector of the cluster; it has none at all.\n")
    assert "Error: ( is not a regular expression: missing )" in run(server, "stop", "-e", "(").stderr


def test_a_state_that_is_not_reached_in_time_exits_with_1(server: ConnectServer) -> None:
    server.herder.stuck.add("src")
    ran = run(server, "pause", "src", "snk", "--timeout", "0.1")
    assert ran.exit_code == 1
    assert ran.stdout == "snk: PAUSED, task 0 PAUSED\n"
    assert ran.stderr == "src: did not reach PAUSED within 0.1 s: RUNNING, task 0 RUNNING\n"
    ran = run(server, "delete", "src", "--timeout", "0.1")
    assert (ran.exit_code, ran.stdout) == (1, "src: still there\n")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["status", "who"], "Error: The cluster at {url} has no connector who; it has snk, src.\n"),
        (["restart", "src", "who"], "Error: The cluster at {url} has no connector who; it has snk, src.\n"),
        (["delete", "who"], "Error: The cluster at {url} has no connector who; it has snk, src.\n"),
        (["pause", "who"], "Error: PUT {url}/connectors/who/pause → 404: Unknown connector who\n"),
        (["offsets", "show", "who"], "Error: GET {url}/connectors/who/offsets → 404: Connector who not found\n"),
    ],
)
def test_an_unknown_connector_is_one_sentence_and_exits_with_2(
    server: ConnectServer, words: list[str], sentence: str
) -> None:
    ran = run(server, *words)
    assert (ran.exit_code, ran.stderr) == (2, sentence.format(url=server.workspace.url))


@pytest.mark.parametrize("words", [["list"], ["status"], ["pause", "src"], ["delete", "src"], ["offsets", "show", "s"]])
def test_a_worker_that_does_not_answer_is_one_sentence(words: list[str]) -> None:
    ran = CliRunner().invoke(main, [*words, "--url", NOBODY])
    sentence = f"No Kafka Connect worker responds at {NOBODY}: connection refused or broken"
    assert (ran.exit_code, ran.stdout) == (2, "")
    assert ran.stderr.count(sentence) == 1
    assert "Traceback" not in ran.stderr


def test_a_verb_needs_names() -> None:
    ran = CliRunner().invoke(main, ["delete"])
    assert ran.exit_code == 2
    assert "Missing argument 'CONNECTOR...'" in ran.stderr


def test_help_lists_all_commands() -> None:
    ran = CliRunner().invoke(main, ["--help"])
    assert ran.exit_code == 0
    commands = re.findall(r"^  (\S+)", ran.stdout.partition("Commands:\n")[2], re.MULTILINE)
    assert isinstance(main, LazyGroup)
    assert commands == sorted(main.lazy)
    assert {"apply", "describe", "patch", "typed-resource"} < set(commands)
    assert "..." not in ran.stdout.partition("Commands:\n")[2]

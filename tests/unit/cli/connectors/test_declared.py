"""`connect-dagster diff` and `apply`: declarations in files and in Python, at a served worker."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from connect_dagster.cli.main import main
from connect_dagster.protocol.states import TargetState
from tests.unit.orchestration.connect_server import CLASS, ConnectServer, connect_server


@pytest.fixture(name="server")
def server_fixture() -> Iterator[ConnectServer]:
    with connect_server() as server:
        yield server


@pytest.fixture(name="source")
def source_fixture(tmp_path: Path) -> Path:
    file = tmp_path / "src.properties"
    file.write_text(f"name=src\nconnector.class={CLASS}\nfile=/tmp/in.txt\ndb.password=geheim99\n")
    return file


@pytest.fixture(name="paused")
def paused_fixture(tmp_path: Path) -> Path:
    file = tmp_path / "paused.json"
    config = {"connector.class": CLASS, "file": "/tmp/in.txt"}
    file.write_text(json.dumps({"name": "idle", "config": config, "initial_state": "PAUSED"}))
    return file


def run(server: ConnectServer, *words: object) -> Result:
    env = {"CONNECT_DAGSTER_REST_URL": server.workspace.url}
    return CliRunner(env=env).invoke(main, [str(word) for word in words])


def test_diff_tells_and_changes_nothing(server: ConnectServer, source: Path) -> None:
    ran = run(server, "diff", source)
    assert (ran.exit_code, ran.stdout.splitlines()) == (
        1,
        [
            "src: create",
            f"  + connector.class={CLASS}",
            "  + db.password=********",
            "  + file=/tmp/in.txt",
            "  + name=src",
            "  + tasks.max=1",
        ],
    )
    assert server.herder.configs == {}


def test_apply_twice_does_nothing_the_second_time(server: ConnectServer, source: Path, paused: Path) -> None:
    first = run(server, "apply", source, paused)
    assert first.exit_code == 0
    assert first.stdout.endswith("src: RUNNING, task 0 RUNNING\nidle: PAUSED, task 0 PAUSED\n")
    assert server.herder.targets == {"src": TargetState.STARTED, "idle": TargetState.PAUSED}
    assert server.herder.configs["src"]["db.password"] == "geheim99"
    second = run(server, "apply", source, paused)
    assert second.stdout.splitlines()[:2] == ["src: no change", "idle: no change"]
    assert run(server, "diff", source, paused).exit_code == 0


def test_a_dry_run_changes_nothing_and_exits_with_0(server: ConnectServer, source: Path) -> None:
    run(server, "apply", source)
    source.write_text(source.read_text().replace("in.txt", "other.txt"))
    ran = run(server, "apply", "--dry-run", source)
    assert (ran.exit_code, ran.stdout) == (0, "src: change\n  - file=/tmp/in.txt\n  + file=/tmp/other.txt\n")
    assert server.herder.configs["src"]["file"] == "/tmp/in.txt"


def test_json_holds_the_plans_alone(server: ConnectServer, source: Path) -> None:
    ran = run(server, "apply", "--json", source)
    (planned,) = json.loads(ran.stdout)
    assert (planned["name"], planned["creates"], planned["state"], planned["goal"]) == ("src", True, None, "RUNNING")
    assert planned["changed_keys"] == ["connector.class", "db.password", "file", "name", "tasks.max"]
    assert "geheim99" not in ran.output


def test_one_refusal_and_nothing_is_changed(server: ConnectServer, source: Path, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.properties"
    wrong.write_text(f"name=wrong\nconnector.class={CLASS}\n")
    ran = run(server, "apply", source, wrong)
    assert ran.exit_code == 2
    assert ran.stderr == (
        "Error: The worker refuses the configuration of connector 'wrong': "
        'file: Missing required configuration "file" which has no default value; '
        "see docs/reference/connector_options.md\nNothing was changed.\n"
    )
    assert server.herder.configs == {}


def test_connectors_declared_in_python(server: ConnectServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "shop_connectors.py").write_text(
        "from connect_dagster import FileStreamSourceResource, KafkaConnectConnectorSpec, KafkaConnectWorkspace\n"
        f"spec = KafkaConnectConnectorSpec('src', '{CLASS}', {{'file': '/tmp/in.txt'}})\n"
        "lines = FileStreamSourceResource(workspace=KafkaConnectWorkspace(), name='lines', topic='t', file='/tmp/l')\n"
        "both = [spec, lines]\n"
        "number = 7\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    applied = run(server, "apply", "shop_connectors:both")
    assert applied.exit_code == 0, applied.stderr
    assert sorted(server.herder.configs) == ["lines", "src"]
    assert run(server, "diff", "shop_connectors:spec").stdout == "src: no change\n"
    wrong = run(server, "diff", "shop_connectors:number")
    assert (wrong.exit_code, wrong.stderr.partition(",")[0]) == (2, "Error: shop_connectors:number holds int")
    assert "has no attribute 'nothing'" in run(server, "diff", "shop_connectors:nothing").stderr
    assert "No module named 'shop_connector'" in run(server, "diff", "shop_connector:spec").stderr


def test_connectors_declared_in_a_component(server: ConnectServer, source: Path, tmp_path: Path) -> None:
    component = tmp_path / "defs.yaml"
    component.write_text(
        "type: connect_dagster.KafkaConnectConnectorComponent\n"
        "attributes:\n"
        "  workspace: {url: http://elsewhere:8083}\n"
        "  connectors:\n"
        "    - file: src.properties\n"
        f"    - {{name: idle, connector_class: {CLASS}, config: {{file: /tmp/i.txt}}, state: PAUSED}}\n"
        "---\n"
        "type: connect_dagster.KafkaConnectWorkspaceComponent\n"
        "attributes: {workspace: {}}\n"
    )
    assert run(server, "apply", component).exit_code == 0
    assert server.herder.targets == {"src": TargetState.STARTED, "idle": TargetState.PAUSED}
    assert run(server, "diff", component).stdout == "src: no change\nidle: no change\n"
    component.write_text("type: connect_dagster.KafkaConnectConnectorComponent\nattributes: {connectors: [{names: 1}]}")
    wrong = run(server, "diff", component)
    assert (wrong.exit_code, wrong.stdout) == (2, "")
    assert wrong.stderr.startswith(f"Error: {component}: ")
    component.write_text("type: [")
    assert run(server, "diff", component).stderr.startswith(f"Error: {component}: while parsing")


def test_a_declaration_that_is_not_there_is_named(server: ConnectServer, source: Path, tmp_path: Path) -> None:
    ran = run(server, "apply", tmp_path / "no.properties")
    assert (ran.exit_code, ran.stderr) == (
        2,
        f"Error: The file {tmp_path}/no.properties does not exist; "
        "a declaration is a file, or module:name of connectors in Python\n",
    )
    assert run(server, "apply", source, source).stderr == "Error: src is declared twice\n"
    source.write_text("topic=lines\n")
    assert run(server, "apply", source).stderr == (
        f"Error: Connector configuration at '{source}' is missing the mandatory 'name' configuration\n"
    )
    source.write_text("name=src\n")
    assert run(server, "apply", source).stderr == (
        "Error: The connector configuration with the keys ['name'] has no value for connector.class\n"
    )

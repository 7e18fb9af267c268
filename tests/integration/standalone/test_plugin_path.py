"""Workers whose plugin.path has what people put there: missing folders, wheels, jars, folders added later."""

from pathlib import Path

import pytest

from tests.integration.worker_process import WorkerProcess
from tests.plugin_packages import SOURCE, distribution, write_files, write_jar, write_wheel

S3 = "io.confluent.connect.s3.source.S3SourceConnector"
MISSING = "/mnt/d/share/kafka/plugins"


def clicks(name: str) -> tuple[str, str, dict[str, str], dict[str, str]]:
    """A distribution with one source, as `write_wheel` and `distribution` take it."""
    module = name.lower()
    return module, "2.5", {f"{module}.py": SOURCE.format(name=name)}, {name: f"{module}:{name}Connector"}


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

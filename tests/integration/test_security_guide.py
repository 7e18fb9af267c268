"""The guide to access: its worker, its commands and its workspace, each with the identity that the page gives it."""

import os
import re
import shlex
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from connect_dagster.client.rest_client import KafkaConnectClient, KafkaConnectError
from connect_dagster.embedded.ports import free_port
from tests.conftest import Broker
from tests.guides import replaced, running
from tests.integration.worker_process import COMMAND, COMMON_DEFAULTS, QUICK_JVM, write_properties
from tests.unit.rest.certificates import Identity
from tests.unit.rest.tokens import Issuer

pytestmark = [pytest.mark.timeout(300), pytest.mark.nightly]

GUIDE = Path(__file__).parents[2] / "docs" / "security.md"
TEXT = GUIDE.read_text(encoding="utf-8")
(PROPERTIES,) = re.findall(r"```properties\n(.*?)```", TEXT, re.DOTALL)
(COMMANDS,) = re.findall(r"```bash\n(.*?)```", TEXT, re.DOTALL)
(PROGRAM,) = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
PASSWORD = "key secret"


@pytest.fixture(scope="module")
def places(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, str]]:
    """Where the guide's worker runs, and its files are."""
    folder = tmp_path_factory.mktemp("security")
    authority, issuer = Identity.authority(), Issuer.make()
    (folder / "ca.pem").write_text(authority.certificate_pem)
    for name in ("worker", "dashboard"):
        one = authority.vouch_for(name)
        (folder / f"{name}.pem").write_text(one.key_pem() + one.certificate_pem)
    (folder / "dagster.p12").write_bytes(authority.vouch_for("dagster").key_store(PASSWORD))
    (folder / "users.properties").write_text("ann=secret\n")
    (folder / "jwks.json").write_text(issuer.key_set)
    (folder / "token").write_text(issuer.token("on-call", aud="kafka-connect"))
    there = {"/etc/connect": str(folder), "127.0.0.1:8443": f"127.0.0.1:{free_port()}"}
    common = {
        **COMMON_DEFAULTS,
        **QUICK_JVM,
        "bootstrap.servers": broker.bootstrap_servers,
        "offset.storage.file.filename": f"{folder}/offsets",
    }
    file = write_properties(folder / "common.properties", common)
    file.write_text(file.read_text() + replaced(PROPERTIES, there))
    with running([COMMAND, file], folder):
        _await_success(replaced(COMMANDS.splitlines()[0], there), folder)
        yield there


@pytest.fixture(scope="module")
def client(places: Mapping[str, str]) -> KafkaConnectClient:
    """That of the guide's workspace."""
    names: dict[str, Any] = {}
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("CONNECT_KEY_PASSWORD", PASSWORD)
        exec(compile(replaced(PROGRAM, places), str(GUIDE), "exec"), names)
        with names["workspace"].initialized() as workspace:
            found: KafkaConnectClient = workspace.get_client()
            return found


def test_each_command_gets_in(places: Mapping[str, str]) -> None:
    for command in COMMANDS.splitlines():
        assert _run(replaced(command, places)).returncode == 0


def test_each_identity_may_do_what_its_role_allows(
    places: Mapping[str, str], client: KafkaConnectClient, tmp_path: Path
) -> None:
    config = {"connector.class": "FileStreamSource", "file": str(tmp_path / "in.txt"), "topic": f"t-{os.getpid()}"}
    client.create({"name": "lines", **config}, "PAUSED")
    by_certificate, by_token, _ = (replaced(command, places) for command in COMMANDS.splitlines())
    assert _run(by_token.replace(" status ", " resume ") + " lines").returncode == 0
    refused = _run(by_certificate.replace(" list ", " pause ") + " lines")
    assert refused.returncode == 2
    assert "403: User:dashboard has the role read: PUT /connectors/lines/pause needs operate" in refused.stderr
    deleted = _run(by_token.replace(" status ", " delete ") + " lines")
    assert "403: User:on-call has the role operate: DELETE /connectors/lines needs change" in deleted.stderr
    client.delete("lines")


def test_nobody_else_gets_in(client: KafkaConnectClient, places: Mapping[str, str]) -> None:
    anonymous = KafkaConnectClient(client.url, access=type(client._access)(ca_file=f"{places['/etc/connect']}/ca.pem"))
    with pytest.raises(KafkaConnectError, match="401: The request has no user, no bearer token"):
        anonymous.connectors()


def test_its_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#]+)", TEXT):
        assert (GUIDE.parent / target).exists(), target


def _run(command: str) -> subprocess.CompletedProcess[str]:
    program, *words = shlex.split(command)
    path = str(COMMAND.with_name(program)) if program == "connect-dagster" else program
    return subprocess.run([path, *words], capture_output=True, text=True, timeout=120)


def _await_success(command: str, folder: Path) -> None:
    deadline = time.monotonic() + 200
    while (ran := _run(command)).returncode != 0:
        log = (folder / "worker.log").read_text(errors="replace")
        assert time.monotonic() < deadline, f"{ran.stderr}\n{log[-5000:]}"
        time.sleep(0.5)

"""The guide to Kerberos: its worker starts by its files, and its workspace asks the brokers."""

import json
import re
import shlex
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from connect_dagster.embedded.ports import free_port
from connect_dagster.orchestration.observations.topic_offsets import fetch_topic_names
from tests.guides import replaced, running
from tests.integration.kafka.test_kerberos_logins import ticket_broker
from tests.kerberos_realm import REALM

pytestmark = [pytest.mark.timeout(300), pytest.mark.nightly]

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "kerberos.md").read_text(encoding="utf-8")
(FILE,) = re.findall(r"```properties\n(.*?)```", TEXT, re.DOTALL)
(START,) = re.findall(r"```bash\n(.*?)```", TEXT, re.DOTALL)
(WORKSPACE,) = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)


def test_the_guide_s_worker_and_workspace_log_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ticket_broker(tmp_path / "brokers") as tickets:
        url = f"http://127.0.0.1:{free_port()}"
        places = {
            "kafka.example.com:9092": tickets.servers,
            "EXAMPLE.COM": REALM,
            "/etc/connect/connect.keytab": str(tickets.realm.key_table("connect")),
            "/etc/krb5.conf": str(tickets.realm.config),
            "http://127.0.0.1:8083": url,
        }
        single = "".join(f"{kind}.storage.replication.factor=1\n" for kind in ("config", "offset", "status"))
        (tmp_path / "connect.properties").write_text(f"{replaced(FILE, places)}listeners={url}\n{single}")
        variable, program, *words = shlex.split(replaced(START, places))
        name, _, value = variable.partition("=")
        monkeypatch.setenv(name, value)
        command: list[str | Path] = [Path(sys.executable).with_name(program), *(tmp_path / word for word in words)]
        with running(command, tmp_path):
            _await_health(url, tmp_path / "worker.log")
            made: dict[str, Any] = {}
            exec(replaced(WORKSPACE, places), made)
            topics = fetch_topic_names(made["workspace"].brokers, 30)
    assert {"connect-configs", "connect-offsets", "connect-status"} <= set(topics)


def _await_health(url: str, log: Path) -> None:
    deadline = time.monotonic() + 240
    while True:
        try:
            with urllib.request.urlopen(f"{url}/health", timeout=5) as response:
                assert json.load(response)["status"] == "healthy"
            return
        except OSError:
            assert time.monotonic() < deadline, log.read_text()[-3000:]
            time.sleep(0.5)

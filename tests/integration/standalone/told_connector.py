"""A connector that writes down what it is told, and the worker's properties that its placeholders need."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.integration.worker_process import WorkerProcess
from tests.rest_calls import Answer

PLUGINS = Path(__file__).with_name("plugins")
PROVIDERS = {
    "config.providers": "file, dir, env, leased",
    "config.providers.file.class": "org.apache.kafka.common.config.provider.FileConfigProvider",
    "config.providers.dir.class": "org.apache.kafka.common.config.provider.DirectoryConfigProvider",
    "config.providers.env.class": "org.apache.kafka.common.config.provider.EnvVarConfigProvider",
    "config.providers.env.param.allowlist.pattern": "TOLD_.*",
    "config.providers.leased.class": "told.LeasedConfigProvider",
}
SECRET = "s3cr3t-of-a-test"


@dataclass(frozen=True, slots=True)
class Told:
    """A connector that writes down what it is told, and the secrets that it is told."""

    worker: WorkerProcess
    name: str
    folder: Path

    @property
    def secrets(self) -> Path:
        return self.folder / "secrets.properties"

    def secret(self, key: str) -> str:
        return f"${{file:{self.secrets}:{key}}}"

    def config(self, **more: str) -> dict[str, str]:
        return {"connector.class": "told.ToldConnector", "journal": str(self.folder / "journal"), **more}

    def put(self, **more: str) -> Answer:
        return self.call("PUT", "/config", self.config(**more))

    def call(self, method: str, below: str = "", body: Any = None) -> Answer:
        return self.worker.call(method, f"/connectors/{self.name}{below}", body)

    def wait_states(self, *states: str) -> dict[str, Any]:
        return self.worker.wait_states(self.name, *states)

    def journal(self) -> list[dict[str, str | None]]:
        file = self.folder / "journal"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    def wait_told(self, who: str, **told: str) -> None:
        wanted = {"who": who, "user": None, "password": None, **told}
        self.worker.wait_until(lambda: wanted in self.journal(), f"tell {who} {told}", 30)

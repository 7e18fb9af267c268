"""REST client for one Kafka Connect worker, ours or Java's.

One method for each endpoint the package uses. Requests that found no listener and answers that ask to come
back (409 while a cluster rebalances, 502 to 504) are retried; everything else that is not a success becomes a
:class:`KafkaConnectError` with the worker's own sentence. Knows nothing of Dagster.
"""

import time
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import requests

import connect_dagster
from connect_dagster.orchestration.records import (
    Connector,
    ConnectorStatus,
    PartitionOffset,
    ServerInfo,
    TaskProgress,
)

RETRIED_STATUSES = frozenset({409, 502, 503, 504})


class KafkaConnectError(Exception):
    """A worker could not be asked, or answered with an error.

    Attributes:
        status: The HTTP status of the answer; None when there was no answer.
        retriable: Whether the same request may succeed soon.
    """

    def __init__(self, message: str, *, status: int | None = None, retriable: bool = False) -> None:
        super().__init__(message)
        self.status = status
        self.retriable = retriable


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and how patiently a request is repeated: ``delay`` seconds, doubled after each retry."""

    retries: int = 3
    delay: float = 0.25

    def delays(self) -> list[float]:
        """Seconds to wait before each retry."""
        return [self.delay * 2**attempt for attempt in range(self.retries)]


class KafkaConnectClient:
    """Asks one worker.

    Args:
        url: Where the worker's REST API listens, as ``http://host:port``.
        timeout: Bound for each request, in seconds.
        retry: When a request is repeated.
    """

    def __init__(self, url: str, *, timeout: float = 10.0, retry: RetryPolicy | None = None) -> None:
        self.url = url.rstrip("/")
        self._timeout = timeout
        self._retry = retry or RetryPolicy()
        self._session = requests.Session()
        # A proxy of the environment never stands between Dagster and its worker.
        self._session.trust_env = False
        version = connect_dagster.__version__
        self._session.headers.update({"User-Agent": f"connect-dagster/{version}", "Accept": "application/json"})

    def server_info(self) -> ServerInfo:
        """``GET /``."""
        return ServerInfo.model_validate(self._json("GET", "/"))

    def is_alive(self) -> bool:
        """Whether ``GET /`` answers in time, asked once."""
        try:
            return self._send_once("GET", "/").ok
        except requests.RequestException:
            return False

    def connectors(self) -> dict[str, Connector]:
        """Configuration and states of all connectors in one request, by name."""
        answer = self._json("GET", "/connectors?expand=status&expand=info")
        return {name: Connector.model_validate(entry) for name, entry in sorted(answer.items())}

    def status(self, connector: str) -> ConnectorStatus:
        """States of one connector and its tasks."""
        return ConnectorStatus.model_validate(self._json("GET", f"{_path(connector)}/status"))

    def active_topics(self, connector: str) -> list[str]:
        """Topics the connector has used; empty where topic tracking is off."""
        try:
            answer = self._json("GET", f"{_path(connector)}/topics")
        except KafkaConnectError as error:
            if error.status == 403:
                return []
            raise
        return sorted(answer[connector]["topics"])

    def offsets(self, connector: str) -> list[PartitionOffset]:
        """Committed offsets of a source, or of a sink's consumer group (KIP-875)."""
        answer = self._json("GET", f"{_path(connector)}/offsets")
        return [PartitionOffset.model_validate(entry) for entry in answer["offsets"]]

    def progress(self) -> dict[str, TaskProgress]:
        """Spark progress by ``connector-task``; empty from a worker that is not ours."""
        try:
            answer = self._json("GET", "/dagster/progress")
        except KafkaConnectError as error:
            if error.status == 404:
                return {}
            raise
        return {task: TaskProgress.model_validate(record) for task, record in answer.items()}

    def pause(self, connector: str) -> None:
        """Ask for PAUSED; the worker gets there later."""
        self._send("PUT", f"{_path(connector)}/pause")

    def resume(self, connector: str) -> None:
        """Ask for RUNNING; the worker gets there later."""
        self._send("PUT", f"{_path(connector)}/resume")

    def restart(self, connector: str, *, only_failed: bool) -> None:
        """Restart the connector and its tasks (KIP-745), or those of them that failed."""
        query = f"includeTasks=true&onlyFailed={str(only_failed).lower()}"
        self._send("POST", f"{_path(connector)}/restart?{query}")

    def _json(self, method: str, path: str) -> Any:
        response = self._send(method, path)
        try:
            return response.json()
        except requests.JSONDecodeError as error:
            raise KafkaConnectError(
                f"{method} {self.url}{path} did not answer with JSON: is this Kafka Connect?"
            ) from error

    def _send(self, method: str, path: str) -> requests.Response:
        for delay in self._retry.delays():
            try:
                return self._attempt(method, path)
            except KafkaConnectError as error:
                if not error.retriable:
                    raise
                time.sleep(delay)
        return self._attempt(method, path)

    def _attempt(self, method: str, path: str) -> requests.Response:
        try:
            response = self._send_once(method, path)
        except requests.ConnectionError as error:
            message = f"No Kafka Connect worker answers at {self.url}: connection refused or broken"
            raise KafkaConnectError(message, retriable=True) from error
        except requests.RequestException as error:
            raise KafkaConnectError(f"{method} {self.url}{path} failed: {error}") from error
        if response.ok:
            return response
        status = response.status_code
        message = f"{method} {self.url}{path} → {status}: {_message(response)}"
        raise KafkaConnectError(message, status=status, retriable=status in RETRIED_STATUSES)

    def _send_once(self, method: str, path: str) -> requests.Response:
        return self._session.request(method, self.url + path, timeout=self._timeout)


def _path(connector: str) -> str:
    return f"/connectors/{quote(connector, safe='')}"


def _message(response: requests.Response) -> str:
    """The sentence of Kafka Connect's error body ``{"error_code", "message"}``, or the body as it is."""
    try:
        return str(response.json()["message"])
    except (requests.JSONDecodeError, KeyError, TypeError):
        return response.text or response.reason

"""REST client for one Kafka Connect worker, ours or Java's.

One method for each endpoint that the package uses. Requests without a response and with 502 to 504 are retried, those
with 409 until a rebalance ends; every other failure becomes a :class:`KafkaConnectError` with the worker's message,
secrets masked. Does not import Dagster.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar
from urllib.parse import quote

import requests
from urllib3.exceptions import ProtocolError

from connect_dagster.backoff import Backoff
from connect_dagster.client.access import Access
from connect_dagster.client.masking import mask_text
from connect_dagster.client.types import (
    ConfigValidation,
    Connector,
    ConnectorInfo,
    ConnectorPlugin,
    ConnectorStatus,
    KeyDefinition,
    MetricSample,
    PartitionOffset,
    ServerInfo,
    TaskProgress,
    WorkerHealth,
)
from connect_dagster.errors import ConfigError
from connect_dagster.plugin.connector_file import DesiredState

Parsed = TypeVar("Parsed")

CONFLICT = 409
RETRIED_STATUSES = frozenset({CONFLICT, 502, 503, 504})
# The one conflict that a retry does not resolve (Java: AlreadyExistsException).
ALREADY_EXISTS = " already exists"
REBALANCE_POLL_SECONDS = 0.5
REFUSED_STATUSES = frozenset({401, 403})
UNKNOWN_PATH = frozenset({401, 403, 404, 405})
NO_CERTIFICATE = (
    "the worker ended the connection, as it does when it requires a client certificate (ssl.client.auth=required) and "
    "gets none that it trusts"
)
LOGGERS = "/admin/loggers"
JSON, TEXT = "application/json", "text/plain"


class KafkaConnectError(Exception):
    """A worker could not be reached, or responded with an error.

    Attributes:
        status: The HTTP status; None when there was no response.
        retriable: Whether the same request may succeed soon.
    """

    def __init__(self, message: str, *, status: int | None = None, retriable: bool = False) -> None:
        super().__init__(message)
        self.status = status
        self.retriable = retriable


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Number of retries of a request, and their delays.

    Attributes:
        retries: At most, when no worker or only a proxy responded.
        delay: Seconds before the first retry.
        rebalance: Seconds to wait for the end of a rebalance, during which workers respond with 409.
        backoff_factor: Factor of the delay from retry to retry.
    """

    retries: int = 3
    delay: float = 0.25
    rebalance: float = 30.0
    backoff_factor: float = 2.0

    def delays(self) -> list[float]:
        """Yield the delay in seconds before each retry."""
        backoff = Backoff(self.delay, factor=self.backoff_factor)
        return [backoff.delay(retry) for retry in range(1, self.retries + 1)]


class KafkaConnectClient:
    """Client of one worker.

    Args:
        url: Where the worker's REST API listens, as ``http://host:port``.
        timeout: Bound for each request, in seconds.
        retry: When a request is repeated.
        access: Credentials and the like; none by default.
    """

    def __init__(
        self, url: str, *, timeout: float = 10.0, retry: RetryPolicy | None = None, access: Access | None = None
    ) -> None:
        self.url = url.rstrip("/")
        self._shown_url = mask_text(self.url)
        self._timeout = timeout
        self._retry = retry or RetryPolicy()
        self._access = access or Access()

    @cached_property
    def _session(self) -> requests.Session:
        # Made at the first request, so that files that cannot be read are reported as any other failure of it.
        return self._access.session(self.url)

    def server_info(self) -> ServerInfo:
        """Return the response of ``GET /``."""
        return self._parsed(ServerInfo.model_validate, "GET", "/")

    def is_alive(self) -> bool:
        """Return whether ``GET /`` succeeds in time, without retries."""
        try:
            return self._send_once("GET", "/").ok
        except (OSError, ConfigError):
            return False

    def responds(self) -> bool:
        """Return whether anything responds to ``GET /`` in time, also with an error, without retries.

        True as well when files of the access cannot be read: it is not the worker that is silent then.
        """
        try:
            self._send_once("GET", "/")
        except (requests.exceptions.SSLError, ConfigError):
            return True
        except requests.ConnectionError as error:
            return self._is_refused_by_tls(error)
        except OSError:
            return False
        return True

    def connectors(self) -> dict[str, Connector]:
        """Return configuration and states of all connectors by name, in one request."""
        return self._parsed(_connectors, "GET", "/connectors?expand=status&expand=info")

    def status(self, connector: str) -> ConnectorStatus:
        """Return the states of a connector and its tasks."""
        return self._parsed(ConnectorStatus.model_validate, "GET", f"{_path(connector)}/status")

    def running_config(self, connector: str) -> ConnectorStatus:
        """Return the states, and whether each part runs the stored configuration.

        The latter is our extension; a worker of Java, and a proxy that does not know the path, leave it open.
        """
        try:
            return self._parsed(ConnectorStatus.model_validate, "GET", f"/dagster{_path(connector)}/status")
        except KafkaConnectError as error:
            if error.status not in UNKNOWN_PATH:
                raise
        return self.status(connector)

    def info(self, connector: str) -> ConnectorInfo | None:
        """Return one connector's configuration as it was given; None when the cluster has no such connector."""
        try:
            return self._parsed(ConnectorInfo.model_validate, "GET", _path(connector))
        except KafkaConnectError as error:
            if error.status == 404:
                return None
            raise

    def task_configs(self, connector: str) -> list[dict[str, str | None]]:
        """Return the configurations of a connector's tasks, in the order of their numbers."""
        return self._parsed(
            lambda answer: [dict(entry["config"]) for entry in answer], "GET", f"{_path(connector)}/tasks"
        )

    def plugins(self) -> list[ConnectorPlugin]:
        """Return the connector classes of the worker."""
        return self._parsed(_all(ConnectorPlugin.model_validate), "GET", "/connector-plugins")

    def plugin_config(self, connector_class: str) -> list[KeyDefinition]:
        """Return the definitions of a connector class's keys (KIP-769)."""
        path = f"/connector-plugins/{quote(connector_class, safe='')}/config"
        return self._parsed(_all(KeyDefinition.model_validate), "GET", path)

    def validate(self, config: Mapping[str, str | None]) -> ConfigValidation:
        """Validate a configuration, which has a ``connector.class``, without applying it."""
        plugin = quote(config.get("connector.class") or "", safe="")
        path = f"/connector-plugins/{plugin}/config/validate"
        return self._parsed(ConfigValidation.model_validate, "PUT", path, dict(config))

    def active_topics(self, connector: str) -> list[str]:
        """Return the topics that a connector has used; empty without topic tracking, and for a deleted connector."""
        try:
            return self._parsed(lambda answer: sorted(answer[connector]["topics"]), "GET", f"{_path(connector)}/topics")
        except KafkaConnectError as error:
            if error.status in (403, 404):
                return []
            raise

    def offsets(self, connector: str) -> list[PartitionOffset]:
        """Return the committed offsets of a source, or of a sink's consumer group (KIP-875).

        Partitions without an offset are left out: right after a reset Java's worker may list one with null.
        """
        read = _all(PartitionOffset.model_validate)
        listed = self._parsed(lambda answer: read(answer["offsets"]), "GET", f"{_path(connector)}/offsets")
        return [entry for entry in listed if entry.offset is not None]

    def progress(self) -> dict[str, TaskProgress]:
        """Return Spark's progress by ``connector-task``; empty from Java's worker."""
        try:
            return self._parsed(_progress, "GET", "/dagster/progress")
        except KafkaConnectError as error:
            if error.status == 404:
                return {}
            raise

    def metrics(self) -> dict[str, float]:
        """Return the metrics without labels by name (``GET /metrics``); empty from Java's worker."""
        return {sample.name: sample.value for sample in self.metric_samples() if not sample.labels}

    def metric_samples(self) -> list[MetricSample]:
        """Return all metrics (``GET /metrics``); none from Java's worker."""
        # Slow to import, and most commands do not need it.
        from prometheus_client.parser import text_string_to_metric_families

        try:
            text = self._send("GET", "/metrics", accept=TEXT).text
        except KafkaConnectError as error:
            if error.status == 404:
                return []
            raise
        try:
            families = list(text_string_to_metric_families(text))
        except ValueError:
            raise KafkaConnectError(f"GET {self._shown_url}/metrics returned no metrics") from None
        return [MetricSample(each.name, each.labels, each.value) for family in families for each in family.samples]

    def create(self, config: Mapping[str, str | None], initial_state: str) -> None:
        """Create a connector in a state: RUNNING, PAUSED or STOPPED (KIP-980)."""
        body = {"name": config["name"], "config": dict(config), "initial_state": initial_state}
        self._send("POST", "/connectors", body)

    def put_config(self, connector: str, config: Mapping[str, str | None]) -> None:
        """Replace the configuration of a connector; create it RUNNING when it does not exist."""
        self._send("PUT", f"{_path(connector)}/config", dict(config))

    def patch_config(self, connector: str, changes: Mapping[str, str | None]) -> None:
        """Change keys of a configuration, the others stay (KIP-477).

        Args:
            connector: Its name.
            changes: Values by key; None removes a key.
        """
        self._send("PATCH", f"{_path(connector)}/config", dict(changes))

    def delete(self, connector: str) -> None:
        """Delete a connector; its offsets stay."""
        self._send("DELETE", _path(connector))

    def alter_offsets(self, connector: str, offsets: Sequence[Mapping[str, Any]]) -> str:
        """Set offsets of a STOPPED connector (KIP-875).

        Args:
            connector: Its name.
            offsets: Entries ``{"partition": …, "offset": …}``; an offset of None resets that partition.

        Returns:
            The worker's message.
        """
        return self._parsed(_message_text, "PATCH", f"{_path(connector)}/offsets", {"offsets": list(offsets)})

    def reset_offsets(self, connector: str) -> str:
        """Delete all offsets of a STOPPED connector (KIP-875); return the worker's message."""
        return self._parsed(_message_text, "DELETE", f"{_path(connector)}/offsets")

    def stop(self, connector: str) -> None:
        """Request STOPPED, in which a connector has no tasks; the worker reaches it later."""
        self._send("PUT", f"{_path(connector)}/stop")

    def pause(self, connector: str) -> None:
        """Request PAUSED; the worker reaches it later."""
        self._send("PUT", f"{_path(connector)}/pause")

    def resume(self, connector: str) -> None:
        """Request RUNNING; the worker reaches it later."""
        self._send("PUT", f"{_path(connector)}/resume")

    def set_target_state(self, connector: str, state: DesiredState) -> None:
        """Request a state by resume, pause or stop; the worker reaches it later."""
        request = {
            DesiredState.RUNNING: self.resume,
            DesiredState.PAUSED: self.pause,
            DesiredState.STOPPED: self.stop,
        }
        request[state](connector)

    def restart(self, connector: str, *, only_failed: bool) -> None:
        """Restart the connector and its tasks, or only the FAILED ones (KIP-745).

        The endpoint's default differs: it restarts the connector alone, and a FAILED task stays FAILED.
        """
        query = f"includeTasks=true&onlyFailed={str(only_failed).lower()}"
        self._send("POST", f"{_path(connector)}/restart?{query}")

    def restart_task(self, connector: str, task: int) -> None:
        """Restart one task; the worker that runs it does so at once."""
        self._send("POST", f"{_path(connector)}/tasks/{task}/restart")

    def reset_topics(self, connector: str) -> None:
        """Forget the topics that a connector has used (KIP-558)."""
        self._send("PUT", f"{_path(connector)}/topics/reset")

    def health(self) -> WorkerHealth:
        """Return the health of the worker, which may be starting or unhealthy (KIP-1017); without retries."""
        response = self._response("GET", "/health", None, JSON)
        try:
            return WorkerHealth.model_validate(response.json())
        except ValueError:
            raise self._refusal("GET", "/health", response) from None

    def loggers(self) -> dict[str, str]:
        """Return the levels of the worker's loggers, by name (KIP-495)."""
        return self._parsed(lambda answer: {name: one["level"] for name, one in answer.items()}, "GET", LOGGERS)

    def logger(self, name: str) -> str:
        """Return the level of a logger."""
        return self._parsed(lambda answer: str(answer["level"]), "GET", f"{LOGGERS}/{quote(name, safe='')}")

    def set_logger_level(self, name: str, level: str, *, cluster: bool = False) -> list[str]:
        """Set the level of a logger and those below it.

        Args:
            name: Of a logger.
            level: TRACE, DEBUG, INFO, WARN, ERROR, FATAL or OFF.
            cluster: Whether on all workers of the group (KIP-976).

        Returns:
            The loggers whose level has changed; empty for the whole cluster, which changes it later.
        """
        path, body = f"{LOGGERS}/{quote(name, safe='')}", {"level": level}
        if not cluster:
            return self._parsed(lambda answer: [str(one) for one in answer], "PUT", path, body)
        self._send("PUT", f"{path}?scope=cluster", body)
        return []

    def _parsed(self, parse: Callable[[Any], Parsed], method: str, path: str, body: object = None) -> Parsed:
        response = self._send(method, path, body)
        try:
            return parse(response.json())
        except requests.JSONDecodeError:
            what = "did not return JSON"
        except (ValueError, TypeError, LookupError, AttributeError):  # pydantic's is a ValueError, and quotes its input
            what = "answered with JSON that Kafka Connect would not write"
        raise KafkaConnectError(f"{method} {self._shown_url}{path} {what}: is this Kafka Connect?")

    def _send(self, method: str, path: str, body: object = None, accept: str = JSON) -> requests.Response:
        delays = iter(self._retry.delays())
        rebalanced_by = time.monotonic() + self._retry.rebalance
        while True:
            try:
                return self._attempt(method, path, body, accept)
            except KafkaConnectError as error:
                if not error.retriable:
                    raise
                rebalances = error.status == CONFLICT and time.monotonic() < rebalanced_by
                delay = REBALANCE_POLL_SECONDS if rebalances else next(delays, None)
                if delay is None:
                    raise
            time.sleep(delay)

    def _attempt(self, method: str, path: str, body: object, accept: str) -> requests.Response:
        response = self._response(method, path, body, accept)
        if not response.ok:
            raise self._refusal(method, path, response)
        return response

    def _response(self, method: str, path: str, body: object, accept: str) -> requests.Response:
        """Return the response, whatever its status. Raises KafkaConnectError without one."""
        where = f"{method} {self._shown_url}{path}"
        try:
            return self._send_once(method, path, body, accept)
        except ConfigError as error:
            raise KafkaConnectError(f"{self._shown_url} cannot be asked: {error}") from None
        except requests.exceptions.SSLError as error:
            raise KafkaConnectError(f"TLS with {self._shown_url} failed: {_cause(error)}") from None
        except requests.ConnectionError as error:
            if self._is_refused_by_tls(error):
                raise KafkaConnectError(
                    f"TLS with {self._shown_url} failed: {NO_CERTIFICATE}", retriable=True
                ) from None
            message = f"No Kafka Connect worker responds at {self._shown_url}: connection refused or broken"
            raise KafkaConnectError(message, retriable=True) from None
        except OSError as error:  # requests' own errors are some
            raise KafkaConnectError(f"{where} failed: {_cause(error)}") from None

    def _refusal(self, method: str, path: str, response: requests.Response) -> KafkaConnectError:
        status = response.status_code
        message = f"{method} {self._shown_url}{path} → {status}: {_message(response)}"
        if status in REFUSED_STATUSES and not _is_of_connect(response):
            message = (
                f"{self._shown_url} refuses the credentials ({status}): check username, password, token and headers"
            )
        passing = status in RETRIED_STATUSES and not message.endswith(ALREADY_EXISTS)
        return KafkaConnectError(message, status=status, retriable=passing)

    def _is_refused_by_tls(self, error: requests.ConnectionError) -> bool:
        """Return whether a worker ended a connection with TLS: with 1.3 the client learns no more than that."""
        cause = error.args[0] if error.args else None
        return self.url.lower().startswith("https:") and isinstance(cause, ProtocolError)

    def _send_once(self, method: str, path: str, body: object = None, accept: str = JSON) -> requests.Response:
        return self._session.request(
            method, self.url + path, json=body, headers={"Accept": accept}, timeout=self._timeout
        )


def _path(connector: str) -> str:
    return f"/connectors/{quote(connector, safe='')}"


def _is_of_connect(response: requests.Response) -> bool:
    """Return whether the response has the form of Kafka Connect's errors, as a 403 of topic tracking that is off."""
    try:
        return "error_code" in response.json()
    except (requests.JSONDecodeError, TypeError):
        return False


def _message(response: requests.Response) -> str:
    """Return the sentence of Kafka Connect's error body ``{"error_code", "message"}``, or the body as it is."""
    try:
        return mask_text(str(response.json()["message"]))
    except (requests.JSONDecodeError, KeyError, TypeError):
        return mask_text(response.text) or response.reason


def _cause(error: Exception) -> str:
    """Return the innermost message of an error that urllib3 wraps several times."""
    reason = getattr(error.args[0], "reason", error) if error.args else error
    return mask_text(str(reason))


def _connectors(answer: Any) -> dict[str, Connector]:
    """Return the complete entries: a connector that is deleted meanwhile comes without its configuration."""
    whole = {name: entry for name, entry in sorted(answer.items()) if entry.get("info") and entry.get("status")}
    return {name: Connector.model_validate(entry) for name, entry in whole.items()}


def _progress(answer: Any) -> dict[str, TaskProgress]:
    return {task: TaskProgress.model_validate(record) for task, record in answer.items()}


def _all(parse: Callable[[Any], Parsed]) -> Callable[[Any], list[Parsed]]:
    return lambda answer: [parse(entry) for entry in answer]


def _message_text(answer: Any) -> str:
    return str(answer["message"])

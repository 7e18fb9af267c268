"""A Connect cluster as a Dagster resource: how it is reached.

Speaks only REST, so a cluster of Java workers is as good as one of ours.
"""

from typing import Any

import dagster as dg
from pydantic import Field

from connect_dagster.orchestration.client import KafkaConnectClient, RetryPolicy


class KafkaConnectWorkspace(dg.ConfigurableResource[Any]):
    """A Connect worker, or the cluster behind it.

    Examples:
        .. code-block:: python

            workspace = KafkaConnectWorkspace(url="http://127.0.0.1:8083", bootstrap_servers="127.0.0.1:9092")
            workspace.get_client().pause("local-file-source")
    """

    url: str = Field(default="http://127.0.0.1:8083", description="REST address of a worker.")
    cluster: str = Field(default="local", description="Name of the cluster, a part of its connectors' asset keys.")
    bootstrap_servers: str | None = Field(
        default=None,
        description="Kafka brokers, host:port; with them end offsets and the lag of sinks are reported.",
    )
    request_timeout: float = Field(default=10.0, description="Bound for each request, in seconds.")
    request_max_retries: int = Field(default=3, description="Retries of a request nobody answered.")
    request_retry_delay: float = Field(default=0.25, description="Seconds before the first retry; doubled after each.")

    def get_client(self, *, timeout: float | None = None) -> KafkaConnectClient:
        """A client for the worker.

        Args:
            timeout: Another bound for each request, in seconds.
        """
        retry = RetryPolicy(self.request_max_retries, self.request_retry_delay)
        return KafkaConnectClient(self.url, timeout=timeout or self.request_timeout, retry=retry)

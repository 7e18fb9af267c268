"""A Connect cluster as a Dagster resource: how it is reached.

Speaks only REST, so a cluster of Java workers is as good as one of ours.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dagster as dg
from pydantic import Field

from connect_dagster.client.rest_client import Access, KafkaConnectClient, KafkaConnectError, RetryPolicy
from connect_dagster.kafka.access import Brokers
from connect_dagster.orchestration.assets.specs import ConnectorSelectorFn, load_kafka_connect_asset_specs
from connect_dagster.orchestration.assets.translator import DagsterKafkaConnectTranslator
from connect_dagster.orchestration.assets.workspace_data import KafkaConnectWorkspaceData
from connect_dagster.orchestration.event_iterator import (
    KafkaConnectApplyConfig,
    KafkaConnectEventIterator,
    apply_and_poll,
)
from connect_dagster.orchestration.variables import unset_variables

# What a field says for Dagster not to show its value in the UI.
SECRET = "dagster__is_secret"


class KafkaConnectWorkspace(dg.ConfigurableResource[Any]):
    """A Connect worker, or the cluster behind it.

    Examples:
        .. code-block:: python

            import dagster as dg
            from connect_dagster import KafkaConnectWorkspace

            workspace = KafkaConnectWorkspace(
                url="https://connect.example.org:8083", username="dagster", password=dg.EnvVar("CONNECT_PASSWORD")
            )
    """

    url: str = Field(default="http://127.0.0.1:8083", description="REST address of a worker.")
    cluster: str = Field(default="local", description="Name of the cluster, a part of its connectors' asset keys.")
    username: str | None = Field(default=None, description="User for basic authentication at the REST API.")
    password: str | None = Field(
        default=None, description="That user's password; give it as an EnvVar.", json_schema_extra={SECRET: True}
    )
    headers: dict[str, str] = Field(
        default={}, description="Headers sent with each request.", json_schema_extra={SECRET: True}
    )
    verify: bool = Field(default=True, description="Whether to check the certificate of https.")
    ca_file: str | None = Field(default=None, description="File of the CA to check it with; the system's otherwise.")
    bootstrap_servers: str | None = Field(
        default=None,
        description="Kafka brokers, host:port; with them end offsets and the lag of sinks are reported.",
    )
    client_properties: dict[str, str] = Field(
        default={},
        description="Settings of Kafka clients in Java's names, such as security.protocol and sasl.jaas.config, for "
        "brokers that want a login or a certificate.",
        json_schema_extra={SECRET: True},
    )
    schema_registry_url: str | None = Field(
        default=None, description="Schema registry with Confluent's API; with it topics get their columns."
    )
    request_timeout: float = Field(default=10.0, gt=0, description="Bound for each request, in seconds.")
    request_max_retries: int = Field(default=3, ge=0, description="Retries of a request nobody answered.")
    request_retry_delay: float = Field(default=0.25, ge=0, description="Seconds before the first retry; then doubled.")
    poll_interval: float = Field(default=0.5, gt=0, description="Seconds between two looks while waiting for a state.")
    poll_timeout: float = Field(default=60.0, gt=0, description="Bound for such a wait, in seconds.")

    @property
    def brokers(self) -> Brokers | None:
        """The brokers with how they are reached; None when they are not known."""
        return Brokers(self.bootstrap_servers, self.client_properties) if self.bootstrap_servers else None

    def get_client(self, *, timeout: float | None = None, retries: int | None = None) -> KafkaConnectClient:
        """A client for the worker.

        Args:
            timeout: Another bound for each request, in seconds.
            retries: Another number of retries; with it a cluster that rebalances is not waited for either.
        """
        retry = RetryPolicy(self.request_max_retries, self.request_retry_delay, self.poll_timeout)
        if retries is not None:
            retry = RetryPolicy(retries, self.request_retry_delay, rebalance=0.0)
        return KafkaConnectClient(
            self.url,
            timeout=timeout or self.request_timeout,
            retry=retry,
            access=Access(self.username, self.password, self.headers, self.ca_file or self.verify),
        )

    @contextmanager
    def initialized(self) -> Iterator["KafkaConnectWorkspace"]:
        """The workspace with its variables read, for code that no run hands its resources to.

        Raises:
            KafkaConnectError: A variable is not set; names it and the field.
        """
        if unset := unset_variables({name: getattr(self, name) for name in type(self).model_fields}):
            raise KafkaConnectError(f"The workspace needs environment variables that are not set: {', '.join(unset)}")
        with self.process_config_and_initialize_cm() as ready:
            yield ready

    def fetch_kafka_connect_workspace_data(self) -> KafkaConnectWorkspaceData:
        """Ask the cluster for its connectors. Raises KafkaConnectError."""
        return KafkaConnectWorkspaceData.fetch(self.get_client(), self.cluster, self.bootstrap_servers)

    def load_asset_specs(
        self,
        *,
        dagster_kafka_connect_translator: DagsterKafkaConnectTranslator | None = None,
        connector_selector_fn: ConnectorSelectorFn | None = None,
        snapshot_path: str | Path | None = None,
    ) -> Sequence[dg.AssetSpec]:
        """The connectors of the cluster and their data as assets; see :func:`load_kafka_connect_asset_specs`."""
        return load_kafka_connect_asset_specs(
            workspace=self,
            dagster_kafka_connect_translator=dagster_kafka_connect_translator,
            connector_selector_fn=connector_selector_fn,
            snapshot_path=snapshot_path,
        )

    def apply_and_poll(
        self, context: dg.AssetExecutionContext, config: KafkaConnectApplyConfig | None = None
    ) -> KafkaConnectEventIterator:
        """Bring the connectors of ``@kafka_connect_assets`` to what is declared, and wait until they are there.

        Validates, compares with the live configuration, changes what differs, and asks for the desired state. Doing
        it twice changes nothing.

        Args:
            context: Of the assets' run.
            config: How, from the run's configuration.

        Returns:
            Their events, to be yielded; a run fails with one sentence when something is refused or takes too long.
        """
        return apply_and_poll(self, context, config or KafkaConnectApplyConfig())

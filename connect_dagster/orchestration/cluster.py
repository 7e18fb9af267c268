"""Access to a Connect cluster and its Kafka brokers, as fields of a Dagster resource.

Speaks only REST, so a cluster of Java workers is as good as one of ours. Does not know assets: those are added by
:class:`connect_dagster.KafkaConnectWorkspace`, so that the modules that make them can use this one.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Self

import dagster as dg
from pydantic import Field

from connect_dagster.client.access import Access
from connect_dagster.client.rest_client import KafkaConnectClient, KafkaConnectError, RetryPolicy
from connect_dagster.kafka.access import Brokers
from connect_dagster.orchestration.failures import unset_variables
from connect_dagster.orchestration.secret_fields import SECRET, SECRET_URL, ResourceWithSecrets


class ConnectCluster(ResourceWithSecrets):
    """Access to a Connect cluster: the base of ``KafkaConnectWorkspace``."""

    url: str = Field(
        default="http://127.0.0.1:8083", description="REST address of a worker.", json_schema_extra=SECRET_URL
    )
    cluster: str = Field(default="local", description="Name of the cluster, a part of its connectors' asset keys.")
    data_key_prefix: list[str] = Field(
        default=[],
        description="Begin of the asset keys of topics, tables, buckets, files and groups of workers, where several "
        "clusters or databases have equal names; keys of connectors have the cluster's name.",
    )
    kafka_cluster: str | None = Field(
        default=None,
        description="Alias of the workers' Kafka cluster, as mirroring names it. With it the keys of topics have the "
        "alias of their cluster in place of the prefix, so that a topic has one key in the workspaces of all clusters.",
    )
    username: str | None = Field(default=None, description="User for basic authentication at the REST API.")
    password: str | None = Field(
        default=None, description="That user's password; give it as an EnvVar.", json_schema_extra=SECRET
    )
    token: str | None = Field(
        default=None, description="Bearer token instead of a user; give it as an EnvVar.", json_schema_extra=SECRET
    )
    token_file: str | None = Field(default=None, description="File with the token, read for each request.")
    headers: dict[str, str] = Field(default={}, description="Headers sent with each request.", json_schema_extra=SECRET)
    verify: bool = Field(default=True, description="Whether to check the certificate of https.")
    ca_file: str | None = Field(
        default=None,
        description="PEM, PKCS12 or JKS with the certificates to check it with; those of certifi otherwise.",
    )
    ca_password: str | None = Field(
        default=None, description="Password of that store; give it as an EnvVar.", json_schema_extra=SECRET
    )
    cert_file: str | None = Field(
        default=None,
        description="Client certificate for https as PEM, or PEM, PKCS12 or JKS that has its key as well.",
    )
    key_file: str | None = Field(default=None, description="Its private key as PEM, when that is another file.")
    key_password: str | None = Field(
        default=None,
        description="Password of the key, or of the store; give it as an EnvVar.",
        json_schema_extra=SECRET,
    )
    bootstrap_servers: str | None = Field(
        default=None,
        description="Kafka brokers, host:port; with them end offsets and the lag of sinks are reported.",
    )
    client_properties: dict[str, str] = Field(
        default={},
        description="Settings of Kafka clients in Java's names, such as security.protocol and sasl.jaas.config, for "
        "brokers that want a login or a certificate.",
        json_schema_extra=SECRET,
    )
    schema_registry_url: str | None = Field(
        default=None,
        description="Schema registry with Confluent's API; with it topics get their columns.",
        json_schema_extra=SECRET_URL,
    )
    schema_registry_token: str | None = Field(
        default=None,
        description="Bearer token for the registry, where its URL has no user; give it as an EnvVar.",
        json_schema_extra=SECRET,
    )
    schema_registry_ca_file: str | None = Field(
        default=None,
        description="PEM, PKCS12 or JKS with the certificates to check that of the registry; else those of certifi.",
    )
    schema_registry_ca_password: str | None = Field(
        default=None, description="Password of that store; give it as an EnvVar.", json_schema_extra=SECRET
    )
    request_timeout: float = Field(default=10.0, gt=0, description="Bound for each request, in seconds.")
    request_max_retries: int = Field(default=3, ge=0, description="Retries of a request without a response.")
    request_retry_delay: float = Field(default=0.25, ge=0, description="Seconds before the first retry.")
    request_backoff_factor: float = Field(default=2.0, ge=1, description="Factor of the delay from retry to retry.")
    poll_interval: float = Field(default=0.5, gt=0, description="Seconds between two polls while waiting for a state.")
    poll_timeout: float = Field(default=60.0, gt=0, description="Bound for such a wait, in seconds.")

    @property
    def brokers(self) -> Brokers | None:
        """Return the brokers with their client properties; None without brokers."""
        return Brokers(self.bootstrap_servers, self.client_properties) if self.bootstrap_servers else None

    @property
    def schema_registry_access(self) -> Access:
        """Return the credentials and certificates for the schema registry."""
        return Access(
            token=self.schema_registry_token,
            ca_file=self.schema_registry_ca_file,
            ca_password=self.schema_registry_ca_password,
        )

    def get_client(self, *, timeout: float | None = None, retries: int | None = None) -> KafkaConnectClient:
        """Return a client for the worker.

        Args:
            timeout: Another bound for each request, in seconds.
            retries: Another number of retries; with it a cluster that rebalances is not waited for either.
        """
        retry = RetryPolicy(
            self.request_max_retries if retries is None else retries,
            self.request_retry_delay,
            self.poll_timeout if retries is None else 0.0,
            self.request_backoff_factor,
        )
        return KafkaConnectClient(
            self.url,
            timeout=timeout or self.request_timeout,
            retry=retry,
            access=Access(**{name: getattr(self, name) for name in Access.__dataclass_fields__}),
        )

    @contextmanager
    def initialized(self) -> Iterator[Self]:
        """Yield the resource with its environment variables resolved, for code outside of runs.

        Raises:
            KafkaConnectError: A variable is not set; names it and the field.
        """
        if unset := unset_variables({name: getattr(self, name) for name in type(self).model_fields}):
            raise KafkaConnectError(f"The workspace needs environment variables that are not set: {', '.join(unset)}")
        with self.process_config_and_initialize_cm() as ready:
            yield ready


def check_names(cluster: ConnectCluster) -> None:
    """Check that what asset keys are made of is known when definitions load.

    Raises:
        DagsterInvalidDefinitionError: The cluster's name or its alias is an ``EnvVar``.
    """
    for name in ("cluster", "kafka_cluster"):
        if isinstance(value := getattr(cluster, name), dg.EnvVar):
            raise dg.DagsterInvalidDefinitionError(
                f"{name} is a part of asset keys, so that a workspace cannot take it from the environment variable "
                f"{value.env_var_name}: write it out, or read the variable while definitions load"
            )


def check_sources(sources: Iterable[ConnectCluster]) -> None:
    """Check that workspaces name and reach the Kafka clusters at the ends of flows.

    Raises:
        DagsterInvalidDefinitionError: One does not.
    """
    for source in sources:
        check_names(source)
        if not (source.kafka_cluster and source.bootstrap_servers):
            raise dg.DagsterInvalidDefinitionError(
                f"The workspace '{source.cluster}' at an end of a flow needs kafka_cluster, its alias in the flow, and "
                "bootstrap_servers"
            )


def check_brokers(cluster: ConnectCluster, purpose: str) -> None:
    """Check that a workspace reaches the brokers.

    Args:
        cluster: The workspace.
        purpose: What needs them, as a sentence.

    Raises:
        DagsterInvalidDefinitionError: It has no ``bootstrap_servers``.
    """
    if not cluster.bootstrap_servers:
        raise dg.DagsterInvalidDefinitionError(
            f"{purpose}: give bootstrap_servers to the workspace '{cluster.cluster}'"
        )


def brokers_by_alias(sources: Iterable[ConnectCluster]) -> dict[str, Brokers]:
    """Return the brokers of mirrored clusters by alias; raises as :meth:`ConnectCluster.initialized`."""
    found: dict[str, Brokers] = {}
    for source in sources:
        with source.initialized() as ready:
            if ready.kafka_cluster and ready.brokers:
                found[ready.kafka_cluster] = ready.brokers
    return found

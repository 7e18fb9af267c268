"""Which keys of connectors hold secrets beyond those whose name says so: what their plugins define as PASSWORD."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

from connect_dagster.client.rest_client import KafkaConnectClient, KafkaConnectError
from connect_dagster.client.types import Connector

PARALLEL_REQUESTS = 8


def with_secret_keys(client: KafkaConnectClient, connectors: Mapping[str, Connector]) -> dict[str, Connector]:
    """Return the connectors with the secret keys of their plugins, asked once for each class.

    A class the worker does not describe has none: what its keys' names tell is masked all the same.

    Raises:
        KafkaConnectError: The worker did not answer, or asks to come back. Better no look than one with a secret.
    """
    classes = sorted({one.connector_class for one in connectors.values()})
    with ThreadPoolExecutor(PARALLEL_REQUESTS) as pool:
        keys = dict(zip(classes, pool.map(lambda name: _secret_keys(client, name), classes), strict=True))
    return {name: one.model_copy(update={"secret_keys": keys[one.connector_class]}) for name, one in connectors.items()}


def _secret_keys(client: KafkaConnectClient, connector_class: str) -> frozenset[str]:
    try:
        return frozenset(key.name for key in client.plugin_config(connector_class) if key.type == "PASSWORD")
    except KafkaConnectError as error:
        if error.status is None or error.retriable:
            raise
        return frozenset()

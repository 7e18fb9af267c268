"""Secret keys of connectors beyond those with a secret name: keys that their plugins define as PASSWORD."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

from connect_dagster.client.rest_client import KafkaConnectClient, KafkaConnectError
from connect_dagster.client.types import Connector

PARALLEL_REQUESTS = 8


def with_secret_keys(client: KafkaConnectClient, connectors: Mapping[str, Connector]) -> dict[str, Connector]:
    """Return the connectors with the secret keys of their plugins, requested once for each class.

    Raises:
        KafkaConnectError: The worker did not respond, or returned 409. Without the keys a connector cannot be masked.
    """
    classes = sorted({one.connector_class for one in connectors.values()})
    with ThreadPoolExecutor(PARALLEL_REQUESTS) as pool:
        keys = dict(zip(classes, pool.map(lambda name: password_keys(client, name), classes), strict=True))
    return {name: one.model_copy(update={"secret_keys": keys[one.connector_class]}) for name, one in connectors.items()}


def password_keys(client: KafkaConnectClient, connector_class: str) -> frozenset[str]:
    """Return the keys that a plugin defines as PASSWORD.

    A class the worker does not describe has none: keys with a secret name are masked in any case.

    Raises:
        KafkaConnectError: The worker did not respond, or returned 409.
    """
    try:
        return frozenset(key.name for key in client.plugin_config(connector_class) if key.type == "PASSWORD")
    except KafkaConnectError as error:
        if error.status is None or error.retriable:
            raise
        return frozenset()

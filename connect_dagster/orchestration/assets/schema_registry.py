"""Columns of topics from a schema registry with Confluent's API."""

import json
from typing import Any
from urllib.parse import quote

import requests
from dagster import TableSchema

from connect_dagster.client.masking import mask_text
from connect_dagster.orchestration.assets.column_schema import avro_columns, json_schema_columns

_COLUMNS_OF = {"AVRO": avro_columns, "JSON": json_schema_columns}


class SchemaRegistryError(Exception):
    """The registry is unreachable, or returned an error."""


def registered_columns(url: str, topic: str, timeout: float) -> TableSchema | None:
    """Return the columns of the newest schema of a topic's values; None without a schema that has columns.

    Args:
        url: Address of the registry; may hold ``user:password@``.
        topic: The topic, whose subject is ``<topic>-value``.
        timeout: Bound for the request, in seconds.

    Raises:
        SchemaRegistryError: The registry cannot be asked, or refuses.
    """
    target = f"{url.rstrip('/')}/subjects/{quote(topic, safe='')}-value/versions/latest"
    session = requests.Session()
    # As with workers, a proxy of the environment does not stand in between. Credentials are those of the URL.
    session.trust_env = False
    try:
        response = session.get(target, timeout=timeout)
        if response.status_code == 404:
            return None
        response.raise_for_status()
        answer: dict[str, Any] = response.json()
        schema = json.loads(answer["schema"])
    except (requests.RequestException, KeyError, ValueError) as error:
        message = mask_text(f"The schema registry {url} did not give the schema of topic '{topic}': {error}")
        raise SchemaRegistryError(message) from error
    columns_of = _COLUMNS_OF.get(answer.get("schemaType", "AVRO"))
    return columns_of(schema) if columns_of and isinstance(schema, dict) else None

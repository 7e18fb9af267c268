"""Settings of Java's Kafka clients, and their translation for the clients of this project.

Users write Java's names and values, as they do for Kafka Connect and its tools. The tables know all of them: those of
``producer``, ``consumer`` and the admin client (in ``java_settings``), on top of what they have in ``common``. Knows no
worker and no connector.
"""

from connect_dagster.kafka.settings.java_settings import ClientKind, definitions
from connect_dagster.kafka.settings.librdkafka import to_librdkafka
from connect_dagster.kafka.settings.python_client import to_kafka_python

__all__ = ["ClientKind", "definitions", "to_kafka_python", "to_librdkafka"]

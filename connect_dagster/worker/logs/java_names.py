"""Loggers of this project by the names of Java's classes and packages, as users of Kafka Connect know them."""

from __future__ import annotations

from collections.abc import Mapping

_RUNTIME = "org.apache.kafka.connect.runtime"
_ALL_OF_KAFKA = ("connect_dagster", "kafka", "org.apache.kafka.clients")
JAVA_NAMES: Mapping[str, tuple[str, ...]] = {
    "org.apache.kafka": _ALL_OF_KAFKA,
    "org.apache.kafka.clients": ("org.apache.kafka.clients", "kafka"),
    "org.apache.kafka.connect": ("connect_dagster",),
    "org.apache.kafka.connect.cli": ("connect_dagster.cli.worker",),
    "org.apache.kafka.connect.converters": ("connect_dagster.converters.plain",),
    "org.apache.kafka.connect.file": ("connect_dagster.connectors.file",),
    "org.apache.kafka.connect.json": ("connect_dagster.converters.json",),
    "org.apache.kafka.connect.mirror": ("connect_dagster.connectors.mirror",),
    "org.apache.kafka.connect.mirror.MirrorCheckpointConnector": ("connect_dagster.connectors.mirror.checkpoint",),
    "org.apache.kafka.connect.mirror.MirrorCheckpointTask": ("connect_dagster.connectors.mirror.checkpoint.task",),
    "org.apache.kafka.connect.mirror.MirrorHeartbeatConnector": ("connect_dagster.connectors.mirror.heartbeat",),
    "org.apache.kafka.connect.mirror.MirrorMaker": ("connect_dagster.cli.worker.mirror_maker",),
    "org.apache.kafka.connect.mirror.MirrorSourceConnector": ("connect_dagster.connectors.mirror.source",),
    "org.apache.kafka.connect.mirror.MirrorSourceTask": ("connect_dagster.connectors.mirror.source.task",),
    _RUNTIME: ("connect_dagster.worker", "connect_dagster.herder", "connect_dagster.isolation", "connect_dagster.rest"),
    f"{_RUNTIME}.AbstractHerder": ("connect_dagster.herder",),
    f"{_RUNTIME}.AbstractWorkerSourceTask": ("connect_dagster.worker.source",),
    f"{_RUNTIME}.ExactlyOnceWorkerSourceTask": ("connect_dagster.worker.source.exactly_once",),
    f"{_RUNTIME}.TransformationChain": ("connect_dagster.worker.transforms",),
    f"{_RUNTIME}.Worker": ("connect_dagster.worker.worker", "connect_dagster.worker.task_builder"),
    f"{_RUNTIME}.WorkerConnector": ("connect_dagster.worker.worker_connector",),
    f"{_RUNTIME}.WorkerSinkTask": ("connect_dagster.worker.sink",),
    f"{_RUNTIME}.WorkerSourceTask": ("connect_dagster.worker.source",),
    f"{_RUNTIME}.WorkerTask": ("connect_dagster.worker.task",),
    f"{_RUNTIME}.distributed": ("connect_dagster.herder.distributed",),
    f"{_RUNTIME}.distributed.DistributedHerder": ("connect_dagster.herder.distributed",),
    f"{_RUNTIME}.distributed.WorkerGroupMember": ("connect_dagster.herder.distributed",),
    f"{_RUNTIME}.errors": ("connect_dagster.worker.errors",),
    f"{_RUNTIME}.isolation": ("connect_dagster.isolation",),
    f"{_RUNTIME}.rest": ("connect_dagster.rest",),
    f"{_RUNTIME}.standalone": ("connect_dagster.herder.standalone",),
    "org.apache.kafka.connect.storage": ("connect_dagster.storage",),
    "org.apache.kafka.connect.storage.FileOffsetBackingStore": ("connect_dagster.storage.file_offset_store",),
    "org.apache.kafka.connect.storage.KafkaConfigBackingStore": ("connect_dagster.storage.config_store",),
    "org.apache.kafka.connect.storage.KafkaOffsetBackingStore": ("connect_dagster.storage.kafka_offset_store",),
    "org.apache.kafka.connect.storage.KafkaStatusBackingStore": ("connect_dagster.storage.kafka_status_store",),
    "org.apache.kafka.connect.transforms": ("connect_dagster.transforms",),
    "org.apache.kafka.connect.util.KafkaBasedLog": ("connect_dagster.storage.topic_log",),
    "org.apache.kafka.connect.util.TopicAdmin": ("connect_dagster.kafka.topic_admin",),
    "io.confluent.connect.avro": ("connect_dagster.converters.avro",),
    "io.confluent.connect.jdbc": ("connect_dagster.connectors.jdbc",),
    "io.confluent.connect.json": ("connect_dagster.converters.json_schema",),
    "io.confluent.connect.protobuf": ("connect_dagster.converters.protobuf",),
    "io.debezium": ("connect_dagster.connectors.mysql",),
    "io.debezium.connector.mariadb": ("connect_dagster.connectors.mysql",),
    "io.debezium.connector.mysql": ("connect_dagster.connectors.mysql",),
    "io.debezium.transforms": ("connect_dagster.transforms.debezium",),
}
"""Names of Java's loggers, each with the loggers here that say the same."""


def loggers_of(name: str) -> tuple[str, ...]:
    """Return the loggers here that correspond to one of Java's; none where none does."""
    return JAVA_NAMES.get(name, ())

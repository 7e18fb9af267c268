"""Options of Confluent's S3 sink that are accepted and change nothing, and those that are refused, with the reasons.

A row's documentation is the reason: it is in the REST API, in the reference, and in warning or error.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from connect_dagster.errors import ConfigError
from connect_dagster.plugin.config import ConfigKey, Importance, Type, Validator, Width, to_text

_FORMAT_PACKAGE = "io.confluent.connect.s3.format."
_AVRO = f"{_FORMAT_PACKAGE}avro.AvroFormat"
_PARTS = "Arrow's client chooses the parts of an upload."
_DISK = "Records of open files wait on the disk (spool.dir), not in memory."
_AVRO_DATA = "Spark makes the Avro schema, of a value's Connect schema."
_TAGS = "Arrow's client of S3 sets no tags."
_ENCRYPTION = "Arrow's client asks for no encryption: set a default encryption of the bucket."
_KEYS = "Files of keys and headers are not written. SparkSink has a record's key in a column (record.columns)."


def _only(*allowed: Any, reason: str) -> Validator:
    """Return the check for the values that ask for nothing."""

    def check(name: str, value: Any) -> None:
        if (value.upper() if isinstance(value, str) else value) not in allowed:
            raise ConfigError.invalid(name, value, reason)

    return check


def _off(name: str, kind: Type, default: Any, reason: str, *others: Any) -> ConfigKey:
    """Return an option that cannot be had, but for values that ask for nothing."""
    validator = _only(default.upper() if isinstance(default, str) else default, *others, reason=reason)
    return ConfigKey(name, kind, default, Importance.LOW, reason, validator, group="Not supported", width=Width.MEDIUM)


def _idle(name: str, kind: Type, default: Any, reason: str) -> ConfigKey:
    """Return an option without effect."""
    return ConfigKey(name, kind, default, Importance.LOW, reason, group="Without effect", width=Width.MEDIUM)


_CREDENTIALS = "software.amazon.awssdk.auth.credentials.DefaultCredentialsProvider"
_OLD_CREDENTIALS = "com.amazonaws.auth.DefaultAWSCredentialsProviderChain"
_CHAIN = (
    "Classes of the JVM cannot be loaded. Without aws.access.key.id the credentials are those of the AWS environment: "
    "variables, ~/.aws, a role by web identity, the machine's or container's."
)
NOT_SUPPORTED = (
    _off("s3.object.tagging", Type.BOOLEAN, False, _TAGS),
    _off("s3.credentials.provider.class", Type.STRING, _CREDENTIALS, _CHAIN, _OLD_CREDENTIALS.upper()),
    _off("s3.ssea.name", Type.STRING, "", _ENCRYPTION),
    _off("s3.sse.customer.key", Type.PASSWORD, None, _ENCRYPTION),
    _off("s3.sse.kms.key.id", Type.STRING, "", _ENCRYPTION),
    _off("s3.wan.mode", Type.BOOLEAN, False, "Arrow's client has no accelerated endpoint."),
    _off("s3.compression.level", Type.INT, -1, "Spark compresses with zlib's default level."),
    _off("store.kafka.keys", Type.BOOLEAN, False, _KEYS),
    _off("store.kafka.headers", Type.BOOLEAN, False, _KEYS),
    _off("s3.schema.partition.affix.type", Type.STRING, "NONE", "Directories do not have names of schemas."),
    _off("schema.compatibility", Type.STRING, "NONE", "Files end where the schema changes; values are not projected."),
)
WITHOUT_EFFECT = (
    _idle("storage.class", Type.STRING, "io.confluent.connect.s3.storage.S3Storage", "store.url chooses the store."),
    _idle("s3.part.size", Type.INT, 26_214_400, _PARTS),
    _idle("s3.retry.backoff.ms", Type.LONG, 200, "Arrow's client waits as long as AWS recommends."),
    _idle("s3.send.digest", Type.BOOLEAN, False, "Arrow's client sends checksums."),
    _idle("s3.http.send.expect.continue", Type.BOOLEAN, True, "Arrow's client sends no Expect header."),
    _idle("s3.elastic.buffer.enable", Type.BOOLEAN, False, _DISK),
    _idle("s3.elastic.buffer.init.capacity", Type.INT, 131_072, _DISK),
    _idle("s3.object.tagging.key.value.pairs", Type.LIST, (), _TAGS),
    _idle("s3.object.behavior.on.tagging.error", Type.STRING, "ignore", _TAGS),
    _idle("max.write.duration.ms", Type.LONG, (1 << 63) - 1, "A batch is bounded by max.poll.records and its bytes."),
    _idle("enable.conditional.writes", Type.BOOLEAN, True, "A file that is written again replaces the same file."),
    _idle("max.files.scan.limit", Type.INT, 100, "A file that is written again replaces the same file."),
    _idle("tombstone.encoded.partition", Type.STRING, "tombstone", "Records without a value are not written."),
    _idle("keys.format.class", Type.STRING, _AVRO, _KEYS),
    _idle("headers.format.class", Type.STRING, _AVRO, _KEYS),
    _idle("schema.cache.size", Type.INT, 1000, _AVRO_DATA),
    _idle("schemas.cache.config", Type.INT, 1000, _AVRO_DATA),
    _idle("enhanced.avro.schema.support", Type.BOOLEAN, True, _AVRO_DATA),
    _idle("connect.meta.data", Type.BOOLEAN, True, _AVRO_DATA),
    _idle("allow.optional.map.keys", Type.BOOLEAN, False, _AVRO_DATA),
    _idle("shutdown.timeout.ms", Type.LONG, 3000, "The worker's task.shutdown.graceful.timeout.ms counts."),
)


def warnings(rows: Sequence[ConfigKey], properties: Mapping[str, str]) -> Iterator[str]:
    """Yield a text for each of these options that a configuration sets to another value than its default."""
    for row in rows:
        given = properties.get(row.name)
        if given is not None and given.strip().lower() != (to_text(row.default, row.type) or "").lower():
            yield f"{row.name} is without effect here. {row.documentation}"

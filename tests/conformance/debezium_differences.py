"""Where our definitions of Debezium's options are not Java's, each with the reason."""

from collections.abc import Mapping

_PATTERN = "Java shows the kind as one pattern; here an option of the kind has its own place among the values."
_OLD = "An earlier name: it is accepted, with a warning, as the option of its present name."
_FIELD = "Debezium reads it and leaves it out of its definition."
_VERSION_1 = "Of Debezium 1: it is accepted, with a warning."
_OF_MYSQL = "Debezium's connector for MySQL, which is newer, has it."
_TRACING = "OpenTelemetry's agent of the JVM is not here."
_EARLIER = "Of earlier versions: it is accepted."
_JVM = "Classes of the JVM cannot be loaded: the value is refused."

NOT_OURS: Mapping[str, str] = {
    "column.mask.hash.([^.]+).with.salt.(.+)": _PATTERN,
    "column.mask.with.(d+).chars": _PATTERN,
    "column.truncate.to.(d+).chars": _PATTERN,
    "event.deserialization.failure.handling.mode": _OLD,
    "heartbeat.topics.prefix": _OLD,
    "internal.legacy.snapshot.max.threads": _OLD,
    "tracing.operation.name": _TRACING,
    "tracing.span.context.field": _TRACING,
    "tracing.with.context.field.only": _TRACING,
}
"""Options that only Java's definitions have."""

NOT_JAVAS: Mapping[str, str] = {
    **dict.fromkeys(
        (
            "binary.handling.mode",
            "event.converting.failure.handling.mode",
            "field.name.adjustment.mode",
            "internal.custom.retriable.exception",
            "internal.schema.history.internal.prefer.ddl",
            "key.field.name",
            "queue.provider.type",
            "read.only",
            "replace.null.with.default",
            "schema.history.internal.ddl.filter",
            "schema.history.internal.kafka.bootstrap.servers",
            "schema.history.internal.kafka.buffer.batch.size",
            "schema.history.internal.kafka.create.timeout.ms",
            "schema.history.internal.kafka.query.timeout.ms",
            "schema.history.internal.kafka.recovery.attempts",
            "schema.history.internal.kafka.recovery.poll.interval.ms",
            "schema.history.internal.kafka.topic",
            "schema.history.internal.name",
            "schema.name.adjustment.mode",
            "signal.file",
            "signal.kafka.bootstrap.servers",
            "signal.kafka.groupId",
            "signal.kafka.poll.timeout.ms",
            "signal.kafka.topic",
            "skip.messages.without.change",
            "snapshot.locking.mode.custom.name",
            "table.field.event.payload.id",
            "topic.cache.size",
            "topic.delimiter",
            "topic.heartbeat.name",
            "topic.heartbeat.prefix",
            "topic.transaction",
            "unavailable.value.placeholder",
        ),
        _FIELD,
    ),
    "errors.retry.delay.initial.ms": "An option of Debezium's engine: the wait before the first of some new attempts.",
    "gtid.ignore.on.recovery": _OF_MYSQL,
    "legacy.snapshot.max.threads": _OF_MYSQL,
    **dict.fromkeys(("gtid.new.channel.position", "snapshot.new.tables", "source.struct.version"), _VERSION_1),
    **dict.fromkeys(
        (
            "debezium.op.invalid.behavior",
            "delete.handling.mode",
            "drop.tombstones",
            "table.fields.additional.error.on.missing",
        ),
        _EARLIER,
    ),
}
"""Options that only our definitions have."""

FACTS: Mapping[tuple[str, str], str] = {
    ("topic.naming.strategy", "default_value"): "Debezium documents and uses ours; its definition has another class.",
    ("gtid.source.excludes", "type"): "Java reads the text as a list, as that of gtid.source.includes, which is one.",
    ("delete.tombstone.handling.mode", "default_value"): "Without it an older option may say what becomes of deletes.",
}
"""Single facts that differ, by option and name of the fact."""

VALUES_NOT_OURS: Mapping[tuple[str, str], str] = {
    ("ddl.parser.type", "default"): "The option is without effect.",
    ("ddl.parser.type", "legacy"): "The option is without effect.",
    ("guardrail.collections.limit.action", "fail"): "The option is without effect.",
    ("guardrail.collections.limit.action", "warn"): "The option is without effect.",
    ("snapshot.locking.mode", "custom"): _JVM,
    ("snapshot.mode", "custom"): _JVM,
    ("snapshot.query.mode", "custom"): _JVM,
    ("time.precision.mode", "adaptive"): "Both of Debezium's connectors refuse it after all.",
}
"""Values that Java recommends and we do not, by option and value."""

VALUES_NOT_JAVAS: Mapping[tuple[str, str], str] = {
    ("snapshot.locking.mode", "minimal_at_least_once"): "Debezium after 3.6 has it; it is of use without harm.",
    ("snapshot.mode", "never"): "Debezium's connector for MySQL has dropped it; configurations of version 1 have it.",
}
"""Values that we recommend and Java does not."""

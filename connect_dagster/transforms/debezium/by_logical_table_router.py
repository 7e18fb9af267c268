"""ByLogicalTableRouter: change events of several tables go to one topic, as if they were of one table.

Example:
    transforms.shards.type=io.debezium.transforms.ByLogicalTableRouter
    transforms.shards.topic.regex=(.*)customers_shard(.*)
    transforms.shards.topic.replacement=$1customers_all

Schemas of keys and envelopes are named after the new topic. The key gets a field with the old topic, as rows of two
tables may have the same key. Records of other topics pass. Records that are not envelopes, and tombstones, change their
topic and their key alone; a key that is not a struct, such as one without schema, makes a record fail.

Debezium names a schema after the topic that it has seen first with an equal schema, this transform after each record's.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self, cast

from pydantic import model_validator
from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.errors import ConfigError, DataError
from connect_dagster.expressions import java_patterns, json_objects
from connect_dagster.expressions.java_patterns import Regex
from connect_dagster.expressions.struct_edits import builder_fault, field_value, fields_by_name
from connect_dagster.expressions.value_classes import class_of, class_of_json
from connect_dagster.plugin.config import (
    ConfigDef,
    Importance,
    Width,
    all_of,
    config_key,
    non_empty_string,
    one_of_ignoring_case,
)
from connect_dagster.plugin.frames import Frame, RecordFrame, SourceFrame
from connect_dagster.plugin.schema import STRING_SCHEMA, Schema, SchemaField, SchemaType
from connect_dagster.transforms.debezium import schema_names
from connect_dagster.transforms.debezium.envelopes import (
    AFTER,
    BEFORE,
    ENVELOPE_SUFFIX,
    SplittingTransform,
    field_of,
    is_envelope,
)
from connect_dagster.transforms.debezium.options import check_replacement

log = logging.getLogger(__name__)

_REGEX, _REPLACEMENT = "topic.regex", "topic.replacement"
_KEY_REGEX, _KEY_REPLACEMENT = "key.field.regex", "key.field.replacement"
_ROWS = (BEFORE, AFTER)
# Converters keep their expressions for the same schema object.
_REMEMBERED = 100
_NO_STRUCT = "Only Struct objects supported for [Updating schema], found: "


def _optional_regex(name: str, value: Any) -> None:
    if value:
        java_patterns.regex(name, value)


class ByLogicalTableRouterConfig(ConfigDef):
    """Options of the transform."""

    regex: str = config_key(
        _REGEX,
        importance=Importance.LOW,
        validator=all_of(non_empty_string, java_patterns.regex),
        width=Width.LONG,
        display_name="Topic regex",
        doc="Java regular expression; records of the topics whose whole name it matches are routed.",
    )
    replacement: str = config_key(
        _REPLACEMENT,
        importance=Importance.LOW,
        validator=non_empty_string,
        width=Width.LONG,
        display_name="Topic replacement",
        doc="The new topic; $1 or ${name} stands for a group of topic.regex. Where it becomes empty, a record passes.",
    )
    unique_keys: bool = config_key(
        "key.enforce.uniqueness",
        default=True,
        importance=Importance.LOW,
        width=Width.SHORT,
        display_name="Add source topic name into key",
        doc="Whether the key gets a field that names the table, as rows of two tables may have the same key.",
    )
    key_regex: str | None = config_key(
        _KEY_REGEX,
        default=None,
        importance=Importance.LOW,
        validator=_optional_regex,
        width=Width.LONG,
        display_name="Key field regex",
        doc="Java regular expression for old topics, from which the value of that field is made.",
    )
    key_field: str = config_key(
        "key.field.name",
        default="__dbz__physicalTableIdentifier",
        importance=Importance.LOW,
        width=Width.LONG,
        doc="Name of that field.",
    )
    key_replacement: str | None = config_key(
        _KEY_REPLACEMENT,
        default=None,
        importance=Importance.LOW,
        width=Width.LONG,
        display_name="Key field replacement",
        doc="Value of that field where key.field.regex matches; $1 or ${name} stands for a group. Else it is the old "
        "topic.",
    )
    adjustment: str = config_key(
        "schema.name.adjustment.mode",
        default="none",
        validator=one_of_ignoring_case(*schema_names.MODES),
        importance=Importance.LOW,
        width=Width.MEDIUM,
        doc="How characters that Avro's names cannot have are written in the names of schemas: none leaves them, avro "
        "writes underscores, avro_unicode their codes.",
    )
    cache_size: int = config_key(
        "logical.table.cache.size",
        default=16,
        importance=Importance.LOW,
        width=Width.LONG,
        display_name="Logical table cache size",
        doc="Accepted without effect: schemas are made once for a batch.",
    )

    @model_validator(mode="after")
    def _replacements_fit(self) -> Self:
        if self.key_regex and not self.key_replacement:
            reason = f"{_KEY_REPLACEMENT} must be non-empty if {_KEY_REGEX} is set."
            raise ConfigError.invalid(_KEY_REPLACEMENT, self.key_replacement, reason)
        check_replacement(_REGEX, self.regex, _REPLACEMENT, self.replacement)
        if self.key_regex and self.key_replacement:
            check_replacement(_KEY_REGEX, self.key_regex, _KEY_REPLACEMENT, self.key_replacement)
        return self


@functools.lru_cache(maxsize=_REMEMBERED)
def routed_key(schema: Schema, topic: str, adjustment: str, identifier: str | None) -> Schema:
    """Return the schema of keys in another topic.

    Args:
        schema: a struct.
        topic: the new one.
        adjustment: of the name.
        identifier: name of the field for the table; ``None`` for none.

    Raises:
        DataError: the key has a field of that name.
    """
    fields = schema.fields if identifier is None else (*schema.fields, SchemaField(identifier, STRING_SCHEMA))
    fault = builder_fault(field.name for field in fields)
    if fault is not None:
        raise DataError(fault)
    return replace(schema, name=schema_names.adjusted(f"{topic}.Key", adjustment), fields=fields, default=None)


@functools.lru_cache(maxsize=_REMEMBERED)
def routed_envelope(schema: Schema, topic: str, adjustment: str) -> Schema:
    """Return the schema of envelopes in another topic; both of its rows get the schema of the one before.

    Raises:
        DataError: it has no row before.
    """
    before = field_of(schema, BEFORE, SchemaType.STRUCT).schema
    row = replace(before, name=schema_names.adjusted(f"{topic}.Value", adjustment), default=None)
    fields = tuple(SchemaField(one.name, row) if one.name in _ROWS else one for one in schema.fields)
    name = schema_names.adjusted(f"{topic}{ENVELOPE_SUFFIX}", adjustment)
    return replace(schema, name=name, fields=fields, default=None)


class ByLogicalTableRouter(SplittingTransform):
    """Routes change events of several tables to one topic."""

    config_def: ClassVar[type[ConfigDef]] = ByLogicalTableRouterConfig
    java_class = "io.debezium.transforms.ByLogicalTableRouter"

    def configure(self, config: Mapping[str, str]) -> None:
        """Compile the expressions.

        Raises:
            ConfigError: an option is missing or wrong.
        """
        options = ByLogicalTableRouterConfig.parse(config)
        self._adjustment = options.adjustment.lower()
        self._identifier = options.key_field if options.unique_keys else None
        self._topics = Regex(_REGEX, options.regex, options.replacement)
        self._tables = Regex(_KEY_REGEX, options.key_regex, options.key_replacement) if options.key_regex else None

    def apply_split(self, frame: Frame) -> Sequence[Frame]:
        """Return the records by their new topic; where topics are a column, a Spark job finds which there are."""
        one = _topic_of_all(frame)
        if one is not None:
            new = self._new_topic(one)
            return [frame] if new is None else self._routed(frame, new)
        parts: list[Frame] = []
        olds = [row[0] for row in frame.df.select("topic").distinct().collect()]
        by_new = _by_new({old: self._new_topic(old) for old in olds if old is not None})
        routed = sum(map(len, by_new.values()))
        if len(by_new) == 1 and routed == len(olds):
            return self._routed(frame, next(iter(by_new)))
        for new, of_new in sorted(by_new.items()):
            part, frame = frame.split(F.col("topic").isin(*of_new))
            parts += self._routed(part, new)
        return [*parts, frame]

    def _new_topic(self, topic: str) -> str | None:
        """Return the topic for records of another; ``None`` where they pass."""
        new = self._topics.found_text(topic)
        if new == "":
            log.warning("%s gives an empty name for topic %s, whose records pass", _REPLACEMENT, topic)
        return new or None

    def _routed(self, frame: Frame, topic: str) -> list[Frame]:
        frames = self._with_new_keys(frame, topic)
        return [_with_topic(self._with_new_values(one, topic), topic) for one in frames]

    def _with_new_keys(self, frame: Frame, topic: str) -> list[Frame]:
        """Return the records with new keys; those without one separately, as they have no schema of keys."""
        schema = frame.key_schema
        if not frame.has("key"):
            return [frame]
        key = frame.column("key")
        if schema is None:
            wrong = ~json_objects.is_null(key.cast("string"))
            return [frame.fail_where(wrong, F.concat(F.lit(_NO_STRUCT), class_of_json(key.cast("string"))))]
        if schema.type is not SchemaType.STRUCT:
            failing = frame.fail_where(key.isNotNull(), _NO_STRUCT + class_of(schema))
            return [failing.with_key(F.lit(None).cast("string"), None)]
        if not schema.optional:
            return [self._with_new_structs(frame, schema, topic)]
        keyed, others = frame.split(key.isNotNull())
        return [self._with_new_structs(keyed, schema, topic), others.with_key(F.lit(None).cast("string"), None)]

    def _with_new_structs(self, frame: Frame, schema: Schema, topic: str) -> Frame:
        key = frame.column("key")
        updated = routed_key(schema, topic, self._adjustment, self._identifier)
        if self._identifier is None and not _has_defaults(schema):
            return frame.with_key(key, updated)
        parts = [field_value(key, field, replace_null=True).alias(field.name) for field in schema.fields]
        if self._identifier is not None:
            parts.append(self._table(frame).alias(self._identifier))
        return frame.with_key(F.struct(*parts), updated)

    def _table(self, frame: RecordFrame) -> Column:
        """Return what identifies the table in keys."""
        one, topic = _topic_of_all(frame), frame.column("topic")
        if self._tables is None:
            return topic
        if one is not None:
            found = self._tables.found_text(one)
            return F.lit(one if found is None else found)
        return F.coalesce(self._tables.found(topic), topic)

    def _with_new_values(self, frame: Frame, topic: str) -> Frame:
        schema = frame.value_schema
        if schema is None or not is_envelope(schema):
            return frame
        value, updated = frame.column("value"), routed_envelope(schema, topic, self._adjustment)
        rows = {name: field.schema for name, field in fields_by_name(schema).items() if name in _ROWS}
        if not any(map(_has_defaults, (schema, *rows.values()))):
            return frame.with_value(value, updated)
        parts = [
            _with_defaults(value.getField(field.name), field.schema)
            if field.name in rows
            else field_value(value, field, replace_null=True)
            for field in schema.fields
        ]
        made = F.struct(*(part.alias(field.name) for part, field in zip(parts, schema.fields, strict=True)))
        return frame.with_value(F.when(value.isNotNull(), made), updated)


def _with_defaults(row: Column, schema: Schema) -> Column:
    parts = [field_value(row, field, replace_null=True).alias(field.name) for field in schema.fields]
    return F.when(row.isNotNull(), F.struct(*parts))


def _has_defaults(schema: Schema) -> bool:
    return any(field.schema.default is not None for field in schema.fields)


def _by_new(topics: Mapping[str, str | None]) -> dict[str, list[str]]:
    """Return old topics by new ones; without those that stay."""
    by_new: dict[str, list[str]] = {}
    for old, new in topics.items():
        if new is not None:
            by_new.setdefault(new, []).append(old)
    return by_new


def _topic_of_all(frame: RecordFrame) -> str | None:
    """Return the topic that all records of a frame have; ``None`` where it is a column."""
    return frame.topic if isinstance(frame, SourceFrame) else None


def _with_topic(frame: Frame, topic: str) -> Frame:
    if isinstance(frame, SourceFrame):
        return cast("Frame", replace(frame, df=frame.df.drop("topic"), topic=topic))
    return frame.with_column("topic", F.lit(topic))

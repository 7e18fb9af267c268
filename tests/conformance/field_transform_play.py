"""Plays the same records to Java's transform and to ours, and compares what becomes of them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pyspark.sql import SparkSession

from connect_dagster.errors import ConfigError
from connect_dagster.isolation.plugins import Plugins
from tests.conformance.java_records import Failed, JavaRecords, Record
from tests.conformance.our_records import AnyFrame, frames, transformed_frames

PACKAGE = "org.apache.kafka.connect.transforms."

ALLOWED_DIFFERENCES = {
    "null": "a null under an optional schema keeps its old schema in Java; a frame has one schema: the new one",
    "optional": "InsertField, ReplaceField and Flatten make a required struct of an optional one; ours stays optional, "
    "so that the nulls of the same frame can be written",
}


@dataclass(frozen=True, slots=True)
class Batch:
    """Records and the frames they make."""

    records: Sequence[Record]
    frames: Sequence[AnyFrame]


@dataclass(frozen=True, slots=True)
class Play:
    """Both sides of the test."""

    java: JavaRecords
    spark: SparkSession
    plugins: Plugins = field(default_factory=Plugins)

    def batch(self, records: Sequence[Record]) -> Batch:
        """Records that are played several times."""
        return Batch(records, list(frames(self.spark, records)))

    def compare(self, name: str, config: Mapping[str, str], batch: Batch | Sequence[Record]) -> int:
        """Assert that each record ends alike; returns how many failed."""
        if not isinstance(batch, Batch):
            batch = self.batch(batch)
        expected = self.java.transformed(PACKAGE + name, config, batch.records)
        found = self.ours(name, config, batch)
        different = [
            (before, theirs, ours)
            for before, theirs, ours in zip(batch.records, expected, found, strict=True)
            if seen(ours, before) != seen(theirs, before)
        ]
        assert not different, (name, config, len(different), *different[0])
        return sum(isinstance(one, Failed) for one in expected)

    def ours(self, name: str, config: Mapping[str, str], batch: Batch) -> list[Record | Failed | None]:
        """What our transform makes of the records."""
        transform = self.plugins.transformation(name).plugin()
        try:
            transform.configure(config)
        except ConfigError as error:
            return [Failed(error.java_name, str(error))] * len(batch.records)
        return transformed_frames(batch.frames, transform, batch.records)


def seen(after: Record | Failed | None, before: Record) -> Any:
    """A record with its envelopes parsed, without the allowed differences."""
    if not isinstance(after, Record):
        return after
    return replace(after, key=None, value=None), _data(after.key, before.key), _data(after.value, before.value)


def _data(after: bytes | None, before: bytes | None) -> Any:
    envelope = None if after is None else json.loads(after)
    old = None if before is None else json.loads(before)
    if envelope is None or not envelope.get("schema"):
        return None if envelope is None or envelope["payload"] is None else envelope
    was_optional = bool(old and old["schema"] and old["schema"].get("optional"))
    if was_optional and envelope["payload"] is None:
        return None
    if was_optional and envelope["schema"]["type"] == "struct":
        envelope["schema"]["optional"] = "as it was"
    return envelope

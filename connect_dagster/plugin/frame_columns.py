"""Columns of frames beside those of a record. The first two are for authors; a worker adds the others itself."""

RECEIPT = "receipt"
"""Returns to the task of a source with the place in Kafka that the record has got."""

TOMBSTONE = "tombstone"
"""True for a record that has neither a value nor its schema, among others that have both."""

FAILURE = "__failure"
"""Failure of a record: struct<stage, executor, exception, message: string>; null for a record that has not failed."""

ROW = "__row"
"""Order (long) of the records of a frame that was split."""

RAW_RECORD = "__original"
"""The record as it came (struct), for the report of its failure."""

ORIGINAL_COORDINATES = "__kafka_place"
"""Topic, partition and offset that a record was read from, before any transform (KIP-793):
struct<topic: string, partition: int, offset: long>; only where there are transforms."""

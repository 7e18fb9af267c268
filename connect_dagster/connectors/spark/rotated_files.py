"""SparkSink with files that end by options: its files, by its configuration."""

from __future__ import annotations

from collections.abc import Mapping

from connect_dagster.connectors.object_store.file_names import FileNames
from connect_dagster.connectors.object_store.formats import FileFormat, columns_of_fields
from connect_dagster.connectors.object_store.options import RotationOptions
from connect_dagster.connectors.object_store.settings import FileSettings

FORMATS = ("avro", "csv", "json", "orc", "parquet", "text", "xml")
"""Formats of which one Spark task writes one file."""


def file_settings(
    config: RotationOptions,
    format: str,
    rows: int | None,
    options: Mapping[str, str],
    record_columns: Mapping[str, str],
) -> FileSettings:
    """Return the settings of files.

    Args:
        config: the sink's configuration.
        format: Spark's name of the files' format.
        rows: records of a Kafka partition after which its files end.
        options: of Spark's writer.
        record_columns: names of columns with parts of the record.

    Raises:
        ConfigError: an option is wrong.
    """
    names = FileNames()
    return FileSettings(
        rules=config.rules(rows, at_any_time=True),
        partitioner=config.partitioner(names.directory_delimiter),
        names=names,
        format=FileFormat(format, columns_of_fields, options),
        schedule=config.schedule,
        spool=config.spool_folder,
        record_columns=record_columns,
    )

"""Settings of the files of a sink task."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from connect_dagster.connectors.object_store.file_names import FileNames
from connect_dagster.connectors.object_store.formats import FileFormat
from connect_dagster.connectors.object_store.partitioners import Partitioner
from connect_dagster.connectors.object_store.rotation import RotationRules
from connect_dagster.connectors.object_store.schedule import RotationSchedule


@dataclass(frozen=True, slots=True)
class FileSettings:
    """Settings of a task's files.

    Attributes:
        rules: the ends of files.
        partitioner: their directories.
        names: their names.
        format: their content.
        schedule: ends files by the clock.
        spool: folder for waiting rows; ``None`` for that of the process.
        fails_at_null: whether a record without a value fails the task; else it is left out.
        reports_null: whether a record without a value that is left out is reported.
        record_columns: parts of the record (``key``, ``topic``, ``partition``, ``offset``, ``timestamp``) in further
            columns of a file, by the names of these.
    """

    rules: RotationRules
    partitioner: Partitioner
    names: FileNames
    format: FileFormat
    schedule: RotationSchedule | None = None
    spool: str | None = None
    fails_at_null: bool = False
    reports_null: bool = False
    record_columns: Mapping[str, str] = field(default_factory=dict)

"""Options of files: when they end, and in which directories they are (Confluent: ``StorageSinkConnectorConfig``,
``PartitionerConfig``).
"""

from __future__ import annotations

import datetime as dt
import re
from typing import Any
from zoneinfo import ZoneInfo

from connect_dagster.connectors.object_store.partitioners import Extractor, Partitioner
from connect_dagster.connectors.object_store.path_format import PathFormat
from connect_dagster.connectors.object_store.rotation import RotationRules
from connect_dagster.connectors.object_store.schedule import RotationSchedule
from connect_dagster.connectors.object_store.time_directories import TimeDirectories
from connect_dagster.errors import ConfigError
from connect_dagster.plugin.config import ConfigDef, Importance, Type, Width, config_group, config_key

_HOUR = 3_600_000
DAILY, HOURLY, DEFAULT, FIELD, TIME = "daily", "hourly", "default", "field", "time"
_KINDS = {
    "DefaultPartitioner": DEFAULT,
    "FieldPartitioner": FIELD,
    "TimeBasedPartitioner": TIME,
    "DailyPartitioner": DAILY,
    "HourlyPartitioner": HOURLY,
}
_PACKAGE = "io.confluent.connect.storage.partitioner."
_DAY_PATH = ("'year'=YYYY", "'month'=MM", "'day'=dd")
_FIXED_PATHS = {DAILY: (24 * _HOUR, _DAY_PATH), HOURLY: (_HOUR, (*_DAY_PATH, "'hour'=HH"))}
_FIXED_OFFSET = re.compile(r"([+-])(\d{2}):(\d{2})")
_NO_ROWS = 1 << 62


def kind_of(partitioner: str) -> str | None:
    """Return the kind of a partitioner by its short name or that of Confluent's class; ``None`` for others."""
    if partitioner in _KINDS.values():
        return partitioner
    return _KINDS.get(partitioner.removeprefix(_PACKAGE))


def _known_partitioner(name: str, value: Any) -> None:
    if kind_of(value) is None:
        allowed = ", ".join([*_KINDS.values(), *_KINDS])
        raise ConfigError.invalid(name, value, f"Classes of the JVM cannot be loaded; it must be one of: {allowed}")


def known_extractor(name: str, value: Any) -> None:
    """Refuse another extractor than Confluent's own."""
    allowed = [one.value for one in Extractor]
    if value not in allowed:
        raise ConfigError.invalid(
            name, value, f"Classes of the JVM cannot be loaded; it must be one of: {', '.join(allowed)}"
        )


def _off_or_positive(name: str, value: Any) -> None:
    if value is None or (value < 1 and value != -1):
        raise ConfigError.invalid(name, value, "Value must be at least 1, or -1 for never")


def known_zone(name: str, value: Any) -> None:
    """Refuse an unknown time zone."""
    if value and zone_of(value) is None:
        raise ConfigError.invalid(
            name, value, "It must be a long ID such as Europe/Paris, UTC, or a fixed offset such as +02:00"
        )


def zone_of(text: str) -> dt.tzinfo | None:
    """Return a time zone by its ID, or by a fixed offset ``[+-]hh:mm``; ``None`` where there is none."""
    if fixed := _FIXED_OFFSET.fullmatch(text):
        hours, minutes = int(fixed[2]), int(fixed[3])
        offset = dt.timedelta(hours=hours, minutes=minutes)
        return dt.timezone(-offset if fixed[1] == "-" else offset) if hours < 24 and minutes < 60 else None
    try:
        return ZoneInfo(text)
    except (KeyError, ValueError, OSError):
        return None


class PartitionerOptions(ConfigDef):
    """Options of directories."""

    with config_group("Partitioner", width=Width.LONG):
        partitioner_class: str = config_key(
            "partitioner.class",
            default=f"{_PACKAGE}DefaultPartitioner",
            importance=Importance.HIGH,
            validator=_known_partitioner,
            display_name="Partitioner Class",
            doc="Directories of records below that of their topic: default (by Kafka partition), field, time, daily "
            "or hourly, or Confluent's class of that name.",
        )
        partition_fields: tuple[str, ...] = config_key(
            "partition.field.name",
            default=(),
            width=Width.NONE,
            display_name="Partition Field Name",
            doc="Fields of the value that give the directories, for the partitioner 'field'.",
        )
        partition_duration_ms: int = config_key(
            "partition.duration.ms",
            type=Type.LONG,
            default=-1,
            display_name="Partition Duration (ms)",
            doc="Interval of time of a directory, for the partitioner 'time'.",
        )
        path_format: str = config_key(
            "path.format",
            default="",
            display_name="Path Format",
            doc="Directory of an interval of time, for the partitioner 'time', such as "
            "'year'=YYYY/'month'=MM/'day'=dd/'hour'=HH.",
        )
        locale: str = config_key(
            "locale",
            default="",
            display_name="Locale",
            doc="Language of names of months and days in directories. They are in English.",
        )
        timezone: str = config_key(
            "timezone",
            default="",
            validator=known_zone,
            display_name="Timezone",
            doc="Time zone of directories and of rotate.schedule.interval.ms: a long ID such as Europe/Paris, UTC, or "
            "an offset such as +02:00.",
        )
        timestamp_extractor: str = config_key(
            "timestamp.extractor",
            default=Extractor.WALLCLOCK.value,
            validator=known_extractor,
            display_name="Timestamp Extractor",
            doc="Time of a record: Wallclock, Record (its timestamp in Kafka) or RecordField (timestamp.field).",
        )
        timestamp_field: str = config_key(
            "timestamp.field",
            default="timestamp",
            display_name="Record Field for Timestamp Extractor",
            doc="Field of the value with the time, for the extractor RecordField; a dot before a field within it.",
        )

    @property
    def kind(self) -> str:
        """Return the kind of partitioner."""
        return kind_of(self.partitioner_class) or DEFAULT

    @property
    def by_time(self) -> bool:
        """Return whether directories are intervals of time."""
        return self.kind in (TIME, DAILY, HOURLY)

    def partitioner(self, delimiter: str) -> Partitioner:
        """Return the partitioner.

        Args:
            delimiter: between directories.

        Raises:
            ConfigError: an option that it needs is missing or wrong.
        """
        if self.kind == FIELD and not self.partition_fields:
            reason = "The partitioner 'field' needs at least one field"
            raise ConfigError.invalid("partition.field.name", self.partition_fields, reason)
        for name in self.partition_fields:
            if not all(part.strip() for part in name.split(".")):
                reason = "Field name cannot contain an empty or whitespace-only path segment"
                raise ConfigError.invalid("partition.field.name", name, reason)
        return Partitioner(
            fields=self.partition_fields if self.kind == FIELD else (),
            times=self._times(delimiter) if self.by_time else None,
            extractor=Extractor(self.timestamp_extractor),
            time_field=self.timestamp_field,
            delimiter=delimiter,
        )

    def zone(self) -> dt.tzinfo:
        """Return the time zone of directories.

        Raises:
            ConfigError: none is given.
        """
        found = zone_of(self.timezone) if self.timezone.strip() else None
        if found is None:
            raise ConfigError.invalid("timezone", self.timezone, "Timezone cannot be empty.")
        return found

    def _times(self, delimiter: str) -> TimeDirectories:
        duration, path = _FIXED_PATHS.get(self.kind, (self.partition_duration_ms, (self.path_format,)))
        text = delimiter.join(path).removesuffix(delimiter)
        if duration < 1:
            reason = "The partitioner 'time' needs the length of an interval, in milliseconds"
            raise ConfigError.invalid("partition.duration.ms", duration, reason)
        if not text.strip():
            raise ConfigError.invalid("path.format", self.path_format, "Path format cannot be empty.")
        try:
            parsed = PathFormat.parse(text)
        except ValueError as error:
            raise ConfigError.invalid("path.format", self.path_format, str(error)) from error
        language = re.split("[-_]", self.locale)[0].strip().lower()
        if not language:
            raise ConfigError.invalid("locale", self.locale, "Locale cannot be empty.")
        if parsed.has_words and language != "en":
            reason = "Names of months and days in path.format are in English: use numbers, or a locale of en"
            raise ConfigError.invalid("locale", self.locale, reason)
        return TimeDirectories(duration, parsed, self.zone())


class RotationOptions(PartitionerOptions):
    """Options of the ends of files."""

    with config_group("Files", importance=Importance.HIGH, width=Width.MEDIUM):
        rotate_interval_ms: int = config_key(
            "rotate.interval.ms",
            type=Type.LONG,
            default=-1,
            validator=_off_or_positive,
            display_name="Rotate Interval (ms)",
            doc="Interval of the records' time after which files end, by the first record behind it. -1 is never.",
        )
        rotate_schedule_interval_ms: int = config_key(
            "rotate.schedule.interval.ms",
            type=Type.LONG,
            default=-1,
            importance=Importance.MEDIUM,
            validator=_off_or_positive,
            display_name="Rotate Schedule Interval (ms)",
            doc="Interval of the clock, from midnight in timezone, after which files end. Records may then be in two "
            "files after a crash. -1 is never.",
        )
        rotate_bytes: int = config_key(
            "rotate.bytes",
            type=Type.LONG,
            default=-1,
            validator=_off_or_positive,
            display_name="Rotate Bytes",
            doc="Bytes of values after which files end, counted before compression, those of structs as JSON. "
            "-1 is never.",
        )
        spool_folder: str | None = config_key(
            "spool.dir",
            default=None,
            importance=Importance.LOW,
            display_name="Spool Directory",
            doc="Folder for records whose files have not ended; by default that of the worker's temporary files. "
            "Needed where Spark's executors run on other machines: a folder that all of them see.",
        )

    @property
    def schedule(self) -> RotationSchedule | None:
        """Return the moments of the clock at which files end. Raises ConfigError: it has no time zone."""
        if self.rotate_schedule_interval_ms < 1:
            return None
        return RotationSchedule(self.rotate_schedule_interval_ms, self.zone())

    def rules(
        self, rows: int | None, *, at_any_time: bool, with_directory: bool = True, files: int | None = None
    ) -> RotationRules:
        """Return the ends of files.

        Args:
            rows: records of a group; ``None`` for any number.
            at_any_time: whether ``rotate.interval.ms`` holds for directories that are not intervals of time, too.
            with_directory: whether files end with an interval of time, where ``rotate.interval.ms`` is set.
            files: of a group at most; ``None`` for any number.
        """
        has_interval = self.rotate_interval_ms > 0 and (at_any_time or self.by_time)
        return RotationRules(
            rows=_NO_ROWS if rows is None else rows,
            interval=self.rotate_interval_ms if has_interval else None,
            size=self.rotate_bytes if self.rotate_bytes > 0 else None,
            ends_with_directory=has_interval and self.by_time and with_directory,
            files=files,
        )

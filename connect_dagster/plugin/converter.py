"""Converters and transforms: Spark column expressions between typed data and bytes (Java: ``connect.storage``)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from pyspark.sql import Column, DataFrame

from connect_dagster.plugin.config import ConfigDef
from connect_dagster.plugin.frames import Frame, RecordFrame
from connect_dagster.plugin.schema import Schema


@dataclass(frozen=True, slots=True, eq=False)
class Decoder:
    """Columns that read the records of one schema. Each is equal to itself alone.

    Attributes:
        schema: schema of the result; ``None`` for schemaless (JSON text).
        matches: true for the records this decoder reads; ``None`` when it reads all.
        value: the typed column; null where the record does not match or is not readable.
        readable: false for records that match and cannot be read; ``None`` when all can. Never null. Costs as much
            as ``value``, so evaluate it only where that is null.
        error: text of the error where a record is not readable, Java's text where Java has one.

    All columns refer to the binary column that the decoder was made for.
    """

    schema: Schema | None
    value: Column
    matches: Column | None = None
    readable: Column | None = None
    error: Column | None = None


class Converter(ABC):
    """Converts one typed column to bytes, and bytes to typed columns.

    Attributes:
        needs_topic: whether the bytes depend on the topic; ``encode_for`` is then called in place of ``encode``.
    """

    config_def: ClassVar[type[ConfigDef]]
    java_class: ClassVar[str | None] = None
    version: ClassVar[str] = "undefined"
    needs_topic: ClassVar[bool] = False

    @abstractmethod
    def configure(self, config: Mapping[str, str], *, is_key: bool) -> None:
        """Parse the options (without the ``value.converter.`` prefix)."""

    @abstractmethod
    def encode(self, schema: Schema | None, column: Column) -> Column:
        """Return the expression of the bytes of a typed column (Java: ``fromConnectData``).

        Args:
            schema: the column's schema; ``None`` for JSON text.
            column: the typed column.

        Raises:
            DataError: this converter cannot write such a schema.
        """

    def encode_for(self, topic: str, schema: Schema | None, column: Column) -> Column:
        """Return the expression for records of this topic; transforms have been applied.

        Raises:
            DataError: this converter cannot write such a schema, or not to this topic.
            RetriableError: it may work when it is tried again.
        """
        return self.encode(schema, column)

    def encode_with_prefix(self, schema: Schema | None, column: Column) -> tuple[bytes, Column]:
        """Return the first bytes of all records of a schema, and the expression of the rest: together ``encode``.

        Spark makes only the second part; the producer adds the first.
        """
        return b"", self.encode(schema, column)

    def encode_errors(self, schema: Schema | None, column: Column) -> Column | None:
        """Return the error text of records that ``encode`` cannot write, null for others; ``None`` without errors.

        Where it is not null, ``encode`` is not evaluated.
        """
        return None

    @abstractmethod
    def decoders(self, df: DataFrame, column: str) -> Sequence[Decoder]:
        """Return the decoders of a batch's binary column (Java: ``toConnectData``).

        Each record matches exactly one of them, in the order given. May run a Spark job to find the schemas in the
        batch. Records without a usable schema have a decoder that reads none of them.
        """

    def expected_decoder(self, column: str) -> Decoder | None:
        """Return the decoder to try before ``decoders``, without a Spark job; ``None`` when none is likely.

        It is right for a batch only if every record matches it.
        """
        return None

    def expect(self, record: bytes | None) -> bool:
        """Expect records with the schema of this one; return whether ``expected_decoder`` has a decoder from now on.

        Spares the converter the search of a first batch, where bytes tell it as much.
        """
        return False


class Transform(ABC):
    """Changes record frames between a connector and Kafka (Java: ``Transformation``), by column expressions.

    Attributes:
        drops: whether it leaves out every record it is applied to, as ``Filter`` does.
        deterministic: whether equal columns, topic and schemas give equal expressions, each over its own record alone.
            A source's plan is then kept from batch to batch, and a few records need no Spark job. ``configure`` may
            set it, where options decide.

    Example:
        >>> def apply(self, frame: Frame) -> Frame:
        ...     return frame.with_column("value", F.upper(frame.column("value")))
    """

    config_def: ClassVar[type[ConfigDef]]
    java_class: ClassVar[str | None] = None
    version: ClassVar[str] = "undefined"
    drops: ClassVar[bool] = False
    deterministic: bool = False

    @abstractmethod
    def configure(self, config: Mapping[str, str]) -> None:
        """Parse the options (without the ``transforms.<alias>.`` prefix)."""

    @abstractmethod
    def apply(self, frame: Frame) -> Frame:
        """Return the frame with other columns, or fewer rows.

        Called while the plan is made: once for each batch, or once for many if it is ``deterministic``. Records that
        cannot be changed are failed with ``frame.fail_where``.

        Raises:
            DataError: no record of the frame can be changed, such as those of a wrong schema.
            RetriableError: it may work when it is tried again (``errors.retry.timeout``).
        """

    def apply_split(self, frame: Frame) -> Sequence[Frame]:
        """Return the frame after the transform, as several frames where its records get several schemas.

        A worker calls this method, which by default calls ``apply``. ``frame.split`` makes the frames of one.

        Raises:
            DataError: as ``apply``.
            RetriableError: as ``apply``.
        """
        return [self.apply(frame)]

    def close(self) -> None:  # noqa: B027 (optional hook)
        """Close all that ``configure`` opened; called once, at the task's end."""


class Predicate(ABC):
    """Decides for which records a transform is applied (Java: ``Predicate``).

    Attributes:
        deterministic: as of a :class:`Transform`.

    Example:
        >>> def test(self, frame: RecordFrame) -> Column:
        ...     return frame.column("topic").startswith("test-")
    """

    config_def: ClassVar[type[ConfigDef]]
    java_class: ClassVar[str | None] = None
    version: ClassVar[str] = "undefined"
    deterministic: ClassVar[bool] = False

    @abstractmethod
    def configure(self, config: Mapping[str, str]) -> None:
        """Parse the options (without the ``predicates.<alias>.`` prefix)."""

    @abstractmethod
    def test(self, frame: RecordFrame) -> Column:
        """Return a boolean column over the frame, never null."""

    def matches_all(self, frame: RecordFrame) -> bool | None:
        """Return the result that all records of a frame share, ``None`` if it depends on the record."""
        return None

    def close(self) -> None:  # noqa: B027 (optional hook)
        """Close all that ``configure`` opened; called once, at the task's end."""

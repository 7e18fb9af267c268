"""Header converters: between the values of record headers and their bytes (Java: ``HeaderConverter``).

Headers of frames are bytes already: a transform that adds one has the frame's converter write it. So nothing is
decoded that no plugin reads, and a header passes a worker unchanged.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from pyspark.sql import Column

from connect_dagster.plugin.config import ConfigDef
from connect_dagster.plugin.schema import Schema


class HeaderConverter(ABC):
    """Turns header values into bytes and back, one by one and as columns."""

    config_def: ClassVar[type[ConfigDef]]
    java_class: ClassVar[str | None] = None
    version: ClassVar[str] = "undefined"

    @abstractmethod
    def configure_headers(self, config: Mapping[str, str]) -> None:
        """Take the options (without the ``header.converter.`` prefix)."""

    @abstractmethod
    def encode_header(self, schema: Schema | None, column: Column) -> Column:
        """Expression of the bytes of a typed column (Java: ``fromConnectHeader``); JSON text without schema.

        Raises:
            DataError: this converter cannot write such a schema.
        """

    @abstractmethod
    def to_bytes(self, schema: Schema | None, value: Any) -> bytes | None:
        """Return the bytes of one value in Python's terms.

        Raises:
            DataError: this converter cannot write it.
        """

    @abstractmethod
    def to_value(self, data: bytes | None) -> tuple[Schema | None, Any]:
        """Schema and value of one header (Java: ``toConnectHeader``).

        Raises:
            DataError: the bytes cannot be read.
        """

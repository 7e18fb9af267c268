"""The predicate that holds for records with a header of some name (Java: ``HasHeaderKey``).

predicates=traced
predicates.traced.type=org.apache.kafka.connect.transforms.predicates.HasHeaderKey
predicates.traced.name=trace-id
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.kafka_version import KAFKA_VERSION
from connect_dagster.plugin.config import ConfigDef, config_key, non_empty_string
from connect_dagster.plugin.converter import Predicate
from connect_dagster.plugin.frames import RecordFrame


class HasHeaderKeyConfig(ConfigDef):
    """Options of the predicate."""

    header: str = config_key("name", validator=non_empty_string, doc="Name of the header to look for.")


class HasHeaderKey(Predicate):
    """Matches records that have a header of this name."""

    config_def: ClassVar[type[ConfigDef]] = HasHeaderKeyConfig
    java_class = "org.apache.kafka.connect.transforms.predicates.HasHeaderKey"
    version = KAFKA_VERSION
    deterministic = True

    def configure(self, config: Mapping[str, str]) -> None:
        """Take the name."""
        self._name = HasHeaderKeyConfig.parse(config).header

    def test(self, frame: RecordFrame) -> Column:
        """Return whether one of the headers has the name."""
        if not frame.has("headers"):
            return F.lit(False)
        found = F.exists(frame.column("headers"), lambda header: header["key"] == F.lit(self._name))
        return F.coalesce(found, F.lit(False))

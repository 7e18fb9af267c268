"""Options of the Protobuf converter (Java: ``ProtobufConverterConfig``, ``ProtobufDataConfig``)."""

from __future__ import annotations

from typing import Any

from connect_dagster.converters.schema_registry.config import SchemaRegistryConfig
from connect_dagster.plugin.config import Importance, Type, config_key


def _switch(name: str, doc: str, *, default: bool = False) -> Any:
    return config_key(name, type=Type.BOOLEAN, default=default, doc=doc)


class ProtobufConverterConfig(SchemaRegistryConfig):
    """Options of the converter."""

    full_names: bool = _switch("enhanced.protobuf.schema.support", "Name schemas with their package.")
    scrub_names: bool = _switch("scrub.invalid.names", "Replace characters that Protobuf's names cannot have.")
    keyword: bool = _switch(
        "optional.for.nullables", "Write optional values with the keyword optional, so that null can be told."
    )
    wrappers: bool = _switch(
        "wrapper.for.nullables", "Write optional values as wrapper messages, so that null can be told."
    )
    raw_wrappers: bool = _switch(
        "wrapper.for.raw.primitives", "Values that are not structs are wrapper messages.", default=True
    )
    cache_size: int = config_key(
        "schemas.cache.config", default=1000, importance=Importance.LOW, doc="How many schemas are kept."
    )

"""The API of plugins: connectors, transforms, predicates, converters and config providers.

    from connect_dagster.plugin import ConfigDef, SourceConnector, SourceRecord, SourceTask, config_key

Each name is loaded at its first use, because some need PySpark. Depends on no other package of this project but its
error classes and the emulation of Java's texts.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from connect_dagster.plugin.config import (
        ConfigDef,
        Importance,
        Password,
        Recommender,
        Type,
        UniqueValues,
        Validator,
        Width,
        all_of,
        at_least,
        between,
        config_group,
        config_key,
        no_control_characters,
        non_empty_string,
        non_null,
        one_of,
        one_of_ignoring_case,
    )
    from connect_dagster.plugin.config_provider import ConfigData, ConfigProvider
    from connect_dagster.plugin.connector import (
        Connector,
        ConnectorContext,
        ConnectorTransactionBoundaries,
        ErrantRecordReporter,
        ExactlyOnceSupport,
        OffsetReader,
        Properties,
        SinkConnector,
        SinkTask,
        SinkTaskContext,
        SourceConnector,
        SourceConnectorContext,
        SourceTask,
        SourceTaskContext,
        TransactionContext,
    )
    from connect_dagster.plugin.converter import Converter, Decoder, Predicate, Transform
    from connect_dagster.plugin.errors import (
        ConfigError,
        ConnectError,
        DataError,
        NotFoundError,
        RetriableError,
        RewindError,
    )
    from connect_dagster.plugin.frames import (
        Frame,
        RecordFrame,
        SinkBatch,
        SinkFrame,
        SourceFrame,
        SourceQuery,
        SourceTable,
    )
    from connect_dagster.plugin.header_converter import HeaderConverter
    from connect_dagster.plugin.jwt_retriever import BearerToken, JwtRetriever
    from connect_dagster.plugin.lines import SourceBatch, SourceLines
    from connect_dagster.plugin.metrics import MetricGroup, MetricReading, Metrics, Monitorable
    from connect_dagster.plugin.rate import Rate
    from connect_dagster.plugin.records import Header, RecordMetadata, SinkRecord, SourceRecord, TopicPartition
    from connect_dagster.plugin.rest_extension import ClusterState, RestExtension
    from connect_dagster.plugin.samples import Samples
    from connect_dagster.plugin.schema import (
        BYTES_SCHEMA,
        DATE,
        DECIMAL,
        OPTIONAL_BYTES_SCHEMA,
        OPTIONAL_STRING_SCHEMA,
        STRING_SCHEMA,
        TIME,
        TIMESTAMP,
        Schema,
        SchemaField,
        SchemaType,
    )

__all__ = [
    "BYTES_SCHEMA",
    "DATE",
    "DECIMAL",
    "OPTIONAL_BYTES_SCHEMA",
    "OPTIONAL_STRING_SCHEMA",
    "STRING_SCHEMA",
    "TIME",
    "TIMESTAMP",
    "BearerToken",
    "ClusterState",
    "ConfigData",
    "ConfigDef",
    "ConfigError",
    "ConfigProvider",
    "ConnectError",
    "Connector",
    "ConnectorContext",
    "ConnectorTransactionBoundaries",
    "Converter",
    "DataError",
    "Decoder",
    "ErrantRecordReporter",
    "ExactlyOnceSupport",
    "Frame",
    "Header",
    "HeaderConverter",
    "Importance",
    "JwtRetriever",
    "MetricGroup",
    "MetricReading",
    "Metrics",
    "Monitorable",
    "NotFoundError",
    "OffsetReader",
    "Password",
    "Predicate",
    "Properties",
    "Rate",
    "Recommender",
    "RecordFrame",
    "RecordMetadata",
    "RestExtension",
    "RetriableError",
    "RewindError",
    "Samples",
    "Schema",
    "SchemaField",
    "SchemaType",
    "SinkBatch",
    "SinkConnector",
    "SinkFrame",
    "SinkRecord",
    "SinkTask",
    "SinkTaskContext",
    "SourceBatch",
    "SourceConnector",
    "SourceConnectorContext",
    "SourceFrame",
    "SourceLines",
    "SourceQuery",
    "SourceRecord",
    "SourceTable",
    "SourceTask",
    "SourceTaskContext",
    "TopicPartition",
    "TransactionContext",
    "Transform",
    "Type",
    "UniqueValues",
    "Validator",
    "Width",
    "all_of",
    "at_least",
    "between",
    "config_group",
    "config_key",
    "no_control_characters",
    "non_empty_string",
    "non_null",
    "one_of",
    "one_of_ignoring_case",
]

# Modules that need no PySpark come first: a name is looked up in this order.
_MODULES = (
    "errors",
    "config",
    "config_provider",
    "jwt_retriever",
    "records",
    "rest_extension",
    "samples",
    "metrics",
    "rate",
    "schema",
    "frames",
    "header_converter",
    "lines",
    "converter",
    "connector",
)


def __getattr__(name: str) -> Any:
    if name in __all__:
        for module in _MODULES:
            found = vars(import_module(f"{__name__}.{module}")).get(name)
            if found is not None:
                globals()[name] = found
                return found
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

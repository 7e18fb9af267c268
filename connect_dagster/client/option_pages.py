"""Pages of the documentation that explain the options of connectors, for errors that name an option. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

CONNECTOR_OPTIONS = "docs/reference/connector_options.md"
_TRANSFORM_OPTIONS = "docs/reference/transform_options.md"
_CONVERTER_OPTIONS = "docs/reference/converter_options.md"
_PAGES_BY_PREFIX = {
    "transforms.": _TRANSFORM_OPTIONS,
    "predicates.": _TRANSFORM_OPTIONS,
    "key.converter.": _CONVERTER_OPTIONS,
    "value.converter.": _CONVERTER_OPTIONS,
    "header.converter.": _CONVERTER_OPTIONS,
}
_JDBC = "io.confluent.connect.jdbc.Jdbc"
_MIRROR = "org.apache.kafka.connect.mirror.Mirror"
GUIDES: Mapping[str, str | None] = {
    "connect_dagster.connectors.spark.sink.SparkSinkConnector": "docs/object_stores.md",
    "connect_dagster.connectors.spark.source.SparkSourceConnector": None,
    "io.confluent.connect.s3.S3SinkConnector": "docs/object_stores.md",
    "io.debezium.connector.mariadb.MariaDbConnector": "docs/cdc.md",
    "io.debezium.connector.mysql.MySqlConnector": "docs/cdc.md",
    f"{_JDBC}SinkConnector": "docs/jdbc_sink.md",
    f"{_JDBC}SourceConnector": "docs/jdbc.md",
    f"{_MIRROR}CheckpointConnector": "docs/mirror.md",
    f"{_MIRROR}HeartbeatConnector": "docs/mirror.md",
    f"{_MIRROR}SourceConnector": "docs/mirror.md",
    "org.apache.kafka.connect.file.FileStreamSinkConnector": None,
    "org.apache.kafka.connect.file.FileStreamSourceConnector": None,
}
"""The guide of each connector of this project, by its class; None for one that the reference page alone explains."""
_SIMPLE_NAMES = {
    alias: name
    for name in GUIDES
    for simple in [name.rpartition(".")[2]]
    for alias in (name, simple, simple.removesuffix("Connector"))
}


def option_pages(connector_class: str, keys: Collection[str]) -> list[str]:
    """Return the pages that explain options of a connector, the most specific first.

    Args:
        connector_class: as ``connector.class`` has it, whole or simple.
        keys: names of the options.
    """
    pages = {page: None for key in keys if (page := _page_by_prefix(key)) is not None}
    if any(_page_by_prefix(key) is None for key in keys):
        name = _SIMPLE_NAMES.get(connector_class)
        guide = GUIDES[name] if name else f"`connect-dagster plugin describe {connector_class}`"
        pages |= {page: None for page in (guide, CONNECTOR_OPTIONS) if page}
    return list(pages)


def refusal_text(connector_class: str, errors: Mapping[str, Sequence[str]]) -> str:
    """Return the errors of a validation as one sentence that ends with the pages that explain the options.

    Examples:
        >>> refusal_text("FileStreamSink", {"topics": ["Must configure one of topics or topics.regex"]})
        'topics: Must configure one of topics or topics.regex; see docs/reference/connector_options.md'
    """
    sentences = [f"{key}: {text.removesuffix('.')}" for key, texts in errors.items() for text in texts]
    return "; ".join([*sentences, f"see {', '.join(option_pages(connector_class, errors))}"])


def _page_by_prefix(key: str) -> str | None:
    return next((page for prefix, page in _PAGES_BY_PREFIX.items() if key.startswith(prefix)), None)

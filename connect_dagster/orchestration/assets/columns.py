"""Columns of a topic's records, from the schemas they are written with: Connect's own, Avro's, JSON Schema's.

Types are named as Connect names them: ``int32``, ``string``, ``Timestamp``. A column that may be null has no
constraint; one that may not is ``non-nullable``. A change event of Debezium has the columns of its row.

The lineage from the columns a connector reads to those it writes is given only where it is certain: the columns of the
output are known, it has one upstream, and the transforms only route topics, rename fields or leave some out.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from dagster import AssetKey, TableColumn, TableColumnConstraints, TableColumnDep, TableColumnLineage, TableSchema

from connect_dagster.client.connector_classes import Config, listed, simple_name
from connect_dagster.client.datasets import KafkaConnectDatasetProps
from connect_dagster.client.lineage import ConnectorLineage
from connect_dagster.client.topic_routing import transforms_of

_LOGICAL_PREFIXES = ("org.apache.kafka.connect.data.", "io.debezium.time.", "io.debezium.data.")
_AVRO_TYPES = {"int": "int32", "long": "int64", "float": "float32", "double": "float64"}
_AVRO_LOGICAL = {
    "timestamp-millis": "Timestamp",
    "timestamp-micros": "Timestamp",
    "date": "Date",
    "time-millis": "Time",
    "time-micros": "Time",
    "decimal": "Decimal",
    "uuid": "string",
}
_JSON_TYPES = {"integer": "int64", "number": "float64"}
_ROW_OF_CHANGE = "after"


def connect_columns(schema: Mapping[str, Any]) -> TableSchema | None:
    """Return the columns of the schema in a JSON record; None when it is not a struct."""
    if schema.get("type") != "struct":
        return None
    if str(schema.get("name")).endswith(".Envelope"):
        rows = [field for field in schema["fields"] if field.get("field") == _ROW_OF_CHANGE]
        return connect_columns(rows[0]) if rows else None
    return _table(
        (field["field"], _connect_type(field), bool(field.get("optional")), field.get("doc"))
        for field in schema["fields"]
    )


def avro_columns(schema: Mapping[str, Any]) -> TableSchema | None:
    """Return the columns of an Avro record; None for another Avro type."""
    if schema.get("type") != "record":
        return None
    if schema.get("name") == "Envelope":
        for field in schema["fields"]:
            if field["name"] == _ROW_OF_CHANGE:
                row, _ = _avro_alternatives(field["type"])
                return avro_columns(row) if isinstance(row, Mapping) else None
    columns = []
    for field in schema["fields"]:
        kind, nullable = _avro_alternatives(field["type"])
        columns.append((field["name"], _avro_type(kind), nullable, field.get("doc")))
    return _table(columns)


def json_schema_columns(schema: Mapping[str, Any]) -> TableSchema | None:
    """Return the columns of a JSON Schema object; None for another type. Reads Connect's ``connect.…`` keys."""
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return None
    required = schema.get("required") or ()
    ordered = sorted(properties.items(), key=lambda item: int(item[1].get("connect.index", 0)))
    columns = []
    for name, described in ordered:
        kind, nullable = _json_alternatives(described)
        columns.append((name, _json_type(kind), nullable or name not in required, kind.get("description")))
    return _table(columns)


def _table(columns: Any) -> TableSchema:
    return TableSchema(
        [
            TableColumn(name, kind, description=doc, constraints=TableColumnConstraints(nullable=nullable))
            for name, kind, nullable, doc in columns
        ]
    )


def _connect_type(schema: Mapping[str, Any]) -> str:
    if logical := _logical(str(schema.get("name"))):
        return logical
    match schema.get("type"):
        case "array":
            return f"array<{_connect_type(schema.get('items') or {})}>"
        case "map":
            return f"map<{_connect_type(schema.get('keys') or {})}, {_connect_type(schema.get('values') or {})}>"
        case kind:
            return str(kind)


def _logical(name: str) -> str | None:
    """Return the simple name of a logical type of Connect or Debezium; None for the name of a struct."""
    prefix = next((prefix for prefix in _LOGICAL_PREFIXES if name.startswith(prefix)), None)
    return name.removeprefix(prefix) if prefix else None


def _avro_alternatives(kind: Any) -> tuple[Any, bool]:
    """Return an Avro type without ``null``, and True if it had it."""
    if not isinstance(kind, Sequence) or isinstance(kind, str):
        return kind, False
    others = [one for one in kind if one != "null"]
    return (others[0] if len(others) == 1 else others), len(others) < len(kind)


def _avro_type(kind: Any) -> str:
    if isinstance(kind, str):
        return _AVRO_TYPES.get(kind, kind)
    if not isinstance(kind, Mapping):
        return " | ".join(_avro_type(one) for one in kind)
    if logical := _logical(str(kind.get("connect.name"))) or _AVRO_LOGICAL.get(str(kind.get("logicalType"))):
        return logical
    match kind["type"]:
        case "record":
            return "struct"
        case "array":
            return f"array<{_avro_type(kind['items'])}>"
        case "map":
            return f"map<string, {_avro_type(kind['values'])}>"
        case "enum" | "fixed" as named:
            return {"enum": "string", "fixed": "bytes"}[named]
        case simple:
            # Connect's converter writes the types Avro lacks, such as int16, beside the type it uses instead.
            return str(kind.get("connect.type") or _avro_type(simple))


def _json_alternatives(described: Mapping[str, Any]) -> tuple[Mapping[str, Any], bool]:
    alternatives = described.get("oneOf") or described.get("anyOf")
    if not alternatives:
        return described, False
    others = [one for one in alternatives if one.get("type") != "null"]
    return (others[0] if others else {}), len(others) < len(alternatives)


def _json_type(described: Mapping[str, Any]) -> str:
    if logical := _logical(str(described.get("title"))):
        return logical
    match described.get("type"):
        case "object":
            return "struct"
        case "array":
            return f"array<{_json_type(described.get('items') or {})}>"
        case kind:
            return str(described.get("connect.type") or _JSON_TYPES.get(str(kind), kind))


_RECORD_TYPES = {"topic": "string", "partition": "int32", "offset": "int64", "timestamp": "Timestamp"}
_RECORD_PREFIX = "kafka_"
_UNKNOWN = "any"
_ROUTERS = frozenset({"RegexRouter", "TimestampRouter"})


def field_renames(config: Config) -> Mapping[str, str] | None:
    """Return new names of value fields by old ones; None when a transform does more than route, rename or drop."""
    renames: dict[str, str] = {}
    for alias, kind in transforms_of(config):
        if kind in _ROUTERS:
            continue
        of_values = (config.get(f"transforms.{alias}.type") or "").endswith("$Value")
        if kind != "ReplaceField" or not of_values or config.get(f"transforms.{alias}.predicate"):
            return None
        for pair in listed(config.get(f"transforms.{alias}.renames")):
            old, _, new = pair.partition(":")
            first = next((before for before, after in renames.items() if after == old), old)
            renames[first] = new
    return renames


def upstream_of(lineage: ConnectorLineage, output: KafkaConnectDatasetProps) -> KafkaConnectDatasetProps | None:
    """Return the upstream of an output; None when it has several, or an unknown one."""
    sources = {route.source for route in lineage.routes if route.target == output}
    return sources.pop() if len(sources) == 1 else None


def columns_after(columns: TableSchema, renames: Mapping[str, str]) -> TableSchema:
    """Return a topic's columns after a sink's transforms."""
    return TableSchema(
        [
            TableColumn(renames.get(column.name, column.name), column.type, column.description, column.constraints)
            for column in columns.columns
        ]
    )


def record_columns(config: Config) -> list[TableColumn]:
    """Return the columns that SparkSink adds to those of the value (``record.columns``): they have no upstream."""
    names = listed(config.get("record.columns"))
    if not names or simple_name(config.get("connector.class") or "") != "SparkSink":
        return []
    prefix = config.get("record.columns.prefix")
    return [
        TableColumn(f"{_RECORD_PREFIX if prefix is None else prefix}{name}", _RECORD_TYPES.get(name, _UNKNOWN))
        for name in names
    ]


def column_lineage(columns: TableSchema, upstream: AssetKey, renames: Mapping[str, str]) -> TableColumnLineage:
    """Return the lineage of an output whose columns each come from one column of the upstream.

    Args:
        columns: The output's columns.
        upstream: What it is made of.
        renames: New names by old ones, see :func:`field_renames`.
    """
    old_names = {new: old for old, new in renames.items()}
    return TableColumnLineage(
        {column.name: [TableColumnDep(upstream, old_names.get(column.name, column.name))] for column in columns.columns}
    )

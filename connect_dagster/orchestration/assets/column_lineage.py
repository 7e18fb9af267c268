"""Column lineage of a connector, from the columns it reads to the columns it writes.

Told only where it is certain: the columns of the output are known, it has one upstream, and the transforms do no more
than route topics, rename fields or leave some out.
"""

from collections.abc import Mapping

from dagster import AssetKey, TableColumn, TableColumnDep, TableColumnLineage, TableSchema

from connect_dagster.client.connector_classes import Config, listed
from connect_dagster.client.datasets import KafkaConnectDatasetProps
from connect_dagster.client.lineage import ConnectorLineage
from connect_dagster.client.topic_routing import transforms_of

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

"""The check ``source_matches_sink``: rows of the source have arrived in the sink."""

from collections.abc import Mapping, Sequence
from typing import Any

import dagster as dg
from dagster import AssetCheckKey, MetadataValue

from connect_dagster.client.masking import mask_text
from connect_dagster.kafka.errors import BrokersError
from connect_dagster.orchestration.checks.connector_checks import (
    CheckOutcome,
    ConnectorAsset,
    connector_assets,
    connector_checks,
)
from connect_dagster.orchestration.checks.data_sides import DataSide
from connect_dagster.orchestration.workspace import KafkaConnectWorkspace

DATA_CHECK = "source_matches_sink"
SHOWN_KEYS = 10
LONGEST_KEY = 100


def build_connector_data_checks(
    *,
    workspace: KafkaConnectWorkspace,
    connector: ConnectorAsset,
    source: DataSide,
    sink: DataSide,
    sample_size: int = 100,
    max_difference: int = 0,
) -> Sequence[dg.AssetChecksDefinition]:
    """Creates the check ``source_matches_sink`` of a connector's asset.

    It counts the rows of both sides, and looks for the keys of some of the source's rows in the sink. Both sides are
    read when the check runs, and may move meanwhile: the bound allows for that.

    Args:
        workspace (KafkaConnectWorkspace): The Connect cluster.
        connector (str | AssetSpec | AssetsDefinition): The connector by name, or as an asset; of a chain, the last one.
        source (DataSide): What is read: :class:`FileLines`, :class:`TopicRecords`, or :class:`QueriedRows` for a
            database.
        sink (DataSide): What is written.
        sample_size (int): Of how many of the source's rows the keys are looked for. Defaults to 100.
        max_difference (int): By how many rows the sides may differ, and how many keys may be missing. Defaults to 0.

    Returns:
        Sequence[AssetChecksDefinition]: The check.

    Examples:
        .. code-block:: python

            import dagster as dg
            from connect_dagster.orchestration import FileLines, KafkaConnectWorkspace, build_connector_data_checks

            checks = build_connector_data_checks(
                workspace=KafkaConnectWorkspace(),
                connector="local-file-sink",
                source=FileLines("test.txt"),
                sink=FileLines("test.sink.txt"),
            )
            defs = dg.Definitions(asset_checks=checks)
    """

    def judge(
        context: dg.AssetCheckExecutionContext, ready: KafkaConnectWorkspace, keys: Mapping[str, AssetCheckKey]
    ) -> Mapping[str, CheckOutcome]:
        return {name: data_outcome(source, sink, sample_size, max_difference) for name in keys}

    return connector_checks(
        name=DATA_CHECK,
        description="Rows of the source, and a sample of their keys, are in the sink.",
        workspace=workspace,
        assets=connector_assets(workspace, [connector]),
        judge=judge,
    )


def data_outcome(source: DataSide, sink: DataSide, sample_size: int, max_difference: int) -> CheckOutcome:
    """Read both sides and compare them."""
    try:
        sent = source.sample(sample_size)
        arrived = sink.find(sent.keys)
    except (OSError, BrokersError) as error:
        return CheckOutcome(False, mask_text(f"The sides cannot be compared: {error}"))
    missing = sorted(sent.keys - arrived.keys)
    difference = sent.rows - arrived.rows
    metadata: dict[str, Any] = {
        "source_rows": sent.rows,
        "sink_rows": arrived.rows,
        "row_difference": difference,
        "sampled_keys": len(sent.keys),
        "missing_keys": len(missing),
    }
    if missing:
        shown = [mask_text(key[:LONGEST_KEY]) for key in missing[:SHOWN_KEYS]]
        metadata["first_missing_keys"] = MetadataValue.json(shown)
    message = (
        f"{sent.rows} rows in the source, {arrived.rows} in the sink; "
        f"{len(missing)} of {len(sent.keys)} sampled keys are missing"
    )
    return CheckOutcome(abs(difference) <= max_difference and len(missing) <= max_difference, message, metadata)

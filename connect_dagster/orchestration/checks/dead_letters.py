"""The check ``dead_letters``: the dead letter queue of a sink has not grown."""

from collections.abc import Iterable, Mapping, Sequence

import dagster as dg
from dagster import AssetCheckKey, AssetCheckSeverity, DagsterInstance

from connect_dagster.orchestration.checks.connector_checks import (
    CheckOutcome,
    ConnectorAsset,
    connector_assets,
    connector_checks,
    require_brokers,
    snapshots,
)
from connect_dagster.orchestration.observations.snapshot import ConnectorSnapshot
from connect_dagster.orchestration.workspace import KafkaConnectWorkspace

DEAD_LETTER_CHECK = "dead_letters"
TOTAL = "dead_letter_total"
# The newest records of a check are those of runs that plan it, this one's among them.
LOOKED_BACK = 20


def build_dead_letter_checks(
    *, workspace: KafkaConnectWorkspace, connectors: Iterable[ConnectorAsset], max_growth: int = 0
) -> Sequence[dg.AssetChecksDefinition]:
    """Creates the check ``dead_letters`` of each connector's asset.

    It fails when the end offsets of the topic in ``errors.deadletterqueue.topic.name`` have grown since the check's
    last evaluation by more than the bound. The first evaluation has nothing to compare with, and passes. Without such
    a topic it passes, with a message.

    Args:
        workspace (KafkaConnectWorkspace): The Connect cluster, with ``bootstrap_servers``.
        connectors (Iterable[str | AssetSpec | AssetsDefinition]): The connectors by name, or as assets.
        max_growth (int): The most records that may be added between two evaluations. Defaults to 0.

    Returns:
        Sequence[AssetChecksDefinition]: The checks.

    Raises:
        DagsterInvalidDefinitionError: The workspace has no ``bootstrap_servers``.

    Examples:
        .. code-block:: python

            import dagster as dg
            from connect_dagster.orchestration import KafkaConnectWorkspace, build_dead_letter_checks

            workspace = KafkaConnectWorkspace(bootstrap_servers="127.0.0.1:9092")
            checks = build_dead_letter_checks(workspace=workspace, connectors=["lines-sink"])
            defs = dg.Definitions(asset_checks=checks)
    """
    require_brokers(workspace, "dead letters")

    def judge(
        context: dg.AssetCheckExecutionContext, ready: KafkaConnectWorkspace, keys: Mapping[str, AssetCheckKey]
    ) -> Mapping[str, CheckOutcome]:
        taken = snapshots(context, ready, keys)
        former = {name: last_total(context.instance, keys[name]) for name in taken}
        return {name: dead_letter_outcome(one, former[name], max_growth) for name, one in taken.items()}

    return connector_checks(
        name=DEAD_LETTER_CHECK,
        description=f"At most {max_growth} dead letters were added since the last evaluation.",
        workspace=workspace,
        assets=connector_assets(workspace, connectors),
        judge=judge,
    )


def dead_letter_outcome(snapshot: ConnectorSnapshot, former: int | None, max_growth: int) -> CheckOutcome:
    """Return the outcome for the growth of a connector's dead letter queue.

    Args:
        snapshot: The connector, with the bounds of its topics.
        former: End offsets of the topic at the last evaluation; None at the first one.
        max_growth: The most that may be added.
    """
    topic = snapshot.lineage.dead_letter_topic
    if topic is None:
        return CheckOutcome(True, "It has no topic of dead letters (errors.deadletterqueue.topic.name)")
    total = snapshot.dead_letters
    if total is None:
        message = f"The brokers did not return the end of '{topic}' in time"
        return CheckOutcome(False, message, severity=AssetCheckSeverity.WARN)
    # A topic that was deleted and created again starts at 0.
    growth = 0 if former is None else total - former if total >= former else total
    metadata = {TOTAL: total, "dead_letter_growth": growth, "dead_letter_topic": topic}
    if former is None:
        return CheckOutcome(True, f"First look: '{topic}' has had {total} records", metadata)
    return CheckOutcome(growth <= max_growth, f"{growth} records were added to '{topic}'; {total} in all", metadata)


def last_total(instance: DagsterInstance, key: AssetCheckKey) -> int | None:
    """Return the end offsets of the check's last evaluation that has them; None without one."""
    for record in instance.event_log_storage.get_asset_check_execution_history(key, limit=LOOKED_BACK):
        evaluation = record.evaluation
        metadata = getattr(evaluation, "metadata", {})
        if TOTAL in metadata:
            return int(metadata[TOTAL].value)
    return None

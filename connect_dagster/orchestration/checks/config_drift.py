"""The check ``config_drift``: the live configuration of a connector is the declared one."""

from collections.abc import Iterable, Mapping, Sequence

import dagster as dg
from dagster import AssetCheckKey, MetadataValue

from connect_dagster.client.rest_client import KafkaConnectClient
from connect_dagster.orchestration.assets.specs import declared_props
from connect_dagster.orchestration.assets.translator import DagsterKafkaConnectTranslator
from connect_dagster.orchestration.checks.connector_checks import CheckOutcome, connector_checks
from connect_dagster.orchestration.connectors.apply import ApplyPlan, InvalidConnectorError, plan
from connect_dagster.orchestration.connectors.spec import KafkaConnectConnectorSpec
from connect_dagster.orchestration.workspace import KafkaConnectWorkspace

CONFIG_DRIFT_CHECK = "config_drift"


def build_connector_config_drift_checks(
    *,
    workspace: KafkaConnectWorkspace,
    connectors: Iterable[KafkaConnectConnectorSpec],
    dagster_kafka_connect_translator: DagsterKafkaConnectTranslator | None = None,
) -> Sequence[dg.AssetChecksDefinition]:
    """Creates the check ``config_drift`` of each declared connector's asset.

    It fails when the live configuration is another one than the declared, with the difference in its metadata, secrets
    masked; and when the worker would refuse the declared one.

    Args:
        workspace (KafkaConnectWorkspace): The Connect cluster.
        connectors (Iterable[KafkaConnectConnectorSpec]): The declared connectors.
        dagster_kafka_connect_translator (Optional[DagsterKafkaConnectTranslator]): Gives the keys of the connectors'
            assets; the one their definitions are made with.

    Returns:
        Sequence[AssetChecksDefinition]: The checks.

    Examples:
        .. code-block:: python

            import dagster as dg
            from connect_dagster.orchestration import (
                KafkaConnectConnectorSpec,
                KafkaConnectWorkspace,
                build_connector_config_drift_checks,
            )

            lines = KafkaConnectConnectorSpec("lines", "FileStreamSource", {"file": "/tmp/in.txt", "topic": "lines"})
            checks = build_connector_config_drift_checks(workspace=KafkaConnectWorkspace(), connectors=[lines])
            defs = dg.Definitions(asset_checks=checks)
    """
    declared = {spec.name: spec for spec in connectors}
    translator = dagster_kafka_connect_translator or DagsterKafkaConnectTranslator()
    assets = {name: translator.get_asset_spec(declared_props(workspace, spec)).key for name, spec in declared.items()}

    def judge(
        context: dg.AssetCheckExecutionContext, ready: KafkaConnectWorkspace, keys: Mapping[str, AssetCheckKey]
    ) -> Mapping[str, CheckOutcome]:
        client = ready.get_client()
        return {name: _outcome(client, declared[name]) for name in keys}

    return connector_checks(
        name=CONFIG_DRIFT_CHECK,
        description="The live configuration is the declared one.",
        workspace=workspace,
        assets=assets,
        judge=judge,
    )


def drift_outcome(planned: ApplyPlan) -> CheckOutcome:
    """Return the outcome for the plan that would apply the declaration."""
    changed = planned.diff.changed_keys
    diff = MetadataValue.md("```diff\n" + "\n".join(planned.diff.lines()) + "\n```")
    metadata = {"changed_keys": len(changed)} | ({"diff": diff} if changed else {})
    if planned.creates:
        return CheckOutcome(False, f"The cluster has no connector '{planned.spec.name}'", metadata)
    if planned.diff.is_empty:
        return CheckOutcome(True, "The live configuration is the declared one", metadata)
    return CheckOutcome(False, f"{len(changed)} keys are not as declared: {', '.join(changed)}", metadata)


def _outcome(client: KafkaConnectClient, spec: KafkaConnectConnectorSpec) -> CheckOutcome:
    try:
        return drift_outcome(plan(client, spec))
    except InvalidConnectorError as error:
        return CheckOutcome(False, str(error.description))
    except dg.Failure as failure:
        return CheckOutcome(False, str(failure.description))

"""Definitions of declared connectors in one call: assets, checks, sensors, jobs and resources."""

from collections.abc import Sequence

import dagster as dg

from connect_dagster.orchestration.asset_decorator import Execute, apply_connector, connector_assets
from connect_dagster.orchestration.assets.keys import identifier
from connect_dagster.orchestration.assets.specs import declared_props
from connect_dagster.orchestration.assets.translator import DagsterKafkaConnectTranslator
from connect_dagster.orchestration.checks.config_drift import build_connector_config_drift_checks
from connect_dagster.orchestration.checks.sink_bounds import SinkBounds
from connect_dagster.orchestration.checks.state import build_connector_state_checks
from connect_dagster.orchestration.connectors.spec import KafkaConnectConnectorSpec
from connect_dagster.orchestration.ops.jobs import build_kafka_connect_jobs
from connect_dagster.orchestration.resources.connector import ConnectorResource
from connect_dagster.orchestration.sensors.attempts import AttemptPolicy, BackOff
from connect_dagster.orchestration.sensors.connector import RESTARTS, build_connector_sensor
from connect_dagster.orchestration.source_code import SourceCode, calling_code
from connect_dagster.orchestration.workspace import KafkaConnectWorkspace

JOB_PREFIX = "kafka_connect"


def build_connector_definitions(
    *connectors: ConnectorResource,
    dagster_kafka_connect_translator: DagsterKafkaConnectTranslator | None = None,
    job_prefix: str = JOB_PREFIX,
    minimum_interval_seconds: int = 30,
    default_sensor_status: dg.DefaultSensorStatus = dg.DefaultSensorStatus.RUNNING,
    max_attempts: int = 5,
    back_off: BackOff = RESTARTS,
    restart_failed: bool = True,
    max_lag: int | None = None,
    max_dead_letters: int | None = 0,
    freshness_policy: dg.FreshnessPolicy | None = None,
    observe_topics: bool = False,
    pool: str | None = None,
    input_assets: bool = True,
) -> dg.Definitions:
    """Create the definitions that operate connectors of one cluster.

    Each connector gets an asset between the data it reads and the data it writes, whose materialisation applies it;
    checks of its states, its configuration, and, with brokers, of its dead letters; a sensor that keeps it as declared;
    and a resource with its name, for custom code. Jobs apply, pause, resume, stop, restart and delete all of them, and
    alter and reset offsets.

    Definitions load without a request to the cluster. An ``EnvVar`` stays unresolved until a run or a tick needs it.

    Args:
        connectors (ConnectorResource): The connectors, all of the same workspace.
        dagster_kafka_connect_translator (Optional[DagsterKafkaConnectTranslator]): Makes the assets.
        job_prefix (str): Begin of the jobs' names; give another one for a second cluster. Defaults to
            ``kafka_connect``.
        minimum_interval_seconds (int): Seconds between two ticks of a sensor. Defaults to 30.
        default_sensor_status (DefaultSensorStatus): Whether the sensors run at first. Defaults to RUNNING.
        max_attempts (int): Attempts in a row at a correction, or a restart of FAILED parts, before a sensor gives up.
            Defaults to 5.
        back_off (BackOff): Seconds between attempts; see :func:`build_connector_sensor`.
        restart_failed (bool): Whether the sensors restart FAILED parts. Defaults to True.
        max_lag (Optional[int]): Makes the check ``connector_lag`` of each sink: the most records that it may not have
            committed yet.
        max_dead_letters (Optional[int]): Bound of the check ``dead_letters`` of each sink with such a topic, where the
            workspace has brokers: the most that may be added between two evaluations; None for no check. Defaults to
            0.
        freshness_policy (Optional[FreshnessPolicy]): Policy of the data that the connectors write, as far as the
            translator gives it none; it looks at the materialisations of a polling sensor.
        observe_topics (bool): Whether the topics that the connectors write are observable, as those of
            :func:`build_kafka_topic_assets`; give the same to the polling sensor. Defaults to False.
        pool (Optional[str]): Pool of the steps of Materialize and of the jobs, whose limit in Dagster bounds how many
            run at once.
        input_assets (bool): Whether the tables and files that the connectors read are assets here, beside those that
            they write. False where other definitions of the code location have them. Defaults to True.

    Returns:
        Definitions: To be merged with others.

    Raises:
        DagsterInvalidDefinitionError: No connector is given, two have the same name or different workspaces, or a
            bound is given and the workspace has no ``bootstrap_servers``.

    Examples:
        .. code-block:: python

            from connect_dagster import (
                FileStreamSinkResource,
                FileStreamSourceResource,
                KafkaConnectWorkspace,
                build_connector_definitions,
            )

            workspace = KafkaConnectWorkspace(url="http://127.0.0.1:8083")
            defs = build_connector_definitions(
                FileStreamSourceResource(workspace=workspace, name="access-log", file="/tmp/access.log", topic="log"),
                FileStreamSinkResource(workspace=workspace, name="archive", file="/tmp/archive.txt", topics=["log"]),
            )
    """
    workspace = _one_workspace(connectors)
    operations = declared_connectors_definitions(
        workspace,
        [connector.spec() for connector in connectors],
        translator=dagster_kafka_connect_translator or DagsterKafkaConnectTranslator(),
        job_prefix=job_prefix,
        minimum_interval_seconds=minimum_interval_seconds,
        default_sensor_status=default_sensor_status,
        attempts=AttemptPolicy(max_attempts, back_off),
        restart_failed=restart_failed,
        bounds=SinkBounds(max_lag, max_dead_letters),
        freshness_policy=freshness_policy,
        observe_topics=observe_topics,
        source=calling_code(),
        pool=pool,
        input_assets=input_assets,
    )
    resources = {identifier(connector.name): connector for connector in connectors}
    return dg.Definitions.merge(operations, dg.Definitions(resources=resources))


def declared_connectors_definitions(
    workspace: KafkaConnectWorkspace,
    connectors: Sequence[KafkaConnectConnectorSpec],
    *,
    translator: DagsterKafkaConnectTranslator,
    job_prefix: str = JOB_PREFIX,
    minimum_interval_seconds: int = 30,
    default_sensor_status: dg.DefaultSensorStatus = dg.DefaultSensorStatus.RUNNING,
    execute: Execute = apply_connector,
    attempts: AttemptPolicy,
    restart_failed: bool,
    bounds: SinkBounds,
    freshness_policy: dg.FreshnessPolicy | None = None,
    observe_topics: bool = False,
    source: SourceCode | None = None,
    pool: str | None = None,
    input_assets: bool = True,
) -> dg.Definitions:
    """Create the definitions of declared connectors; see :func:`build_connector_definitions`.

    Args:
        workspace: The Connect cluster.
        connectors: The declarations.
        translator: Makes the assets.
        job_prefix: Begin of the jobs' names.
        minimum_interval_seconds: Seconds between two ticks of a sensor.
        default_sensor_status: Whether the sensors run at first.
        execute: The function of Materialize.
        attempts: Attempts of the sensors.
        restart_failed: Whether they restart FAILED parts.
        bounds: Bounds of sinks, for their checks.
        freshness_policy: Policy of the data that they write.
        observe_topics: Whether the topics that they write are observable.
        source: Line that declares them, which their assets link to.
        pool: Pool of the steps of Materialize and of the jobs.
        input_assets: Whether the tables and files that they read have assets.
    """
    _check_names(connectors)
    jobs = build_kafka_connect_jobs(
        workspace=workspace,
        connectors=connectors,
        prefix=job_prefix,
        dagster_kafka_connect_translator=translator,
        pool=pool,
    )
    sensors = [
        build_connector_sensor(
            workspace=workspace,
            spec=connector,
            jobs=jobs,
            max_attempts=attempts.most,
            back_off=attempts.back_off,
            restart_failed=restart_failed,
            minimum_interval_seconds=minimum_interval_seconds,
            default_status=default_sensor_status,
            dagster_kafka_connect_translator=translator,
        )
        for connector in connectors
    ]
    props = [declared_props(workspace, connector) for connector in connectors]
    declared = {connector.name: connector for connector in connectors}
    return dg.Definitions(
        assets=connector_assets(
            workspace,
            props,
            declared,
            translator,
            execute,
            freshness_policy,
            observe_topics=observe_topics,
            source=source,
            pool=pool,
            input_assets=input_assets,
        ),
        asset_checks=_checks(workspace, connectors, translator, bounds),
        jobs=jobs,
        sensors=sensors,
    )


def _checks(
    workspace: KafkaConnectWorkspace,
    connectors: Sequence[KafkaConnectConnectorSpec],
    translator: DagsterKafkaConnectTranslator,
    bounds: SinkBounds,
) -> list[dg.AssetChecksDefinition]:
    props = [declared_props(workspace, connector) for connector in connectors]
    assets = {one.name: translator.get_asset_spec(one) for one in props}
    return [
        *build_connector_state_checks(workspace=workspace, connectors=assets.values()),
        *build_connector_config_drift_checks(
            workspace=workspace, connectors=connectors, dagster_kafka_connect_translator=translator
        ),
        *bounds.checks(workspace, props, assets),
    ]


def _one_workspace(connectors: Sequence[ConnectorResource]) -> KafkaConnectWorkspace:
    if not connectors:
        raise dg.DagsterInvalidDefinitionError("build_connector_definitions needs at least one connector")
    first, *others = connectors
    for other in others:
        if other.workspace != first.workspace:
            raise dg.DagsterInvalidDefinitionError(
                f"Connectors '{first.name}' and '{other.name}' have different workspaces: "
                "call build_connector_definitions once for each cluster, each with a separate job_prefix"
            )
    return first.workspace


def _check_names(connectors: Sequence[KafkaConnectConnectorSpec]) -> None:
    names = [connector.name for connector in connectors]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise dg.DagsterInvalidDefinitionError(f"A cluster has one connector of a name, but {twice} are declared twice")

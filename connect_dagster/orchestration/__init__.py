"""Kafka Connect in Dagster: workers hosted by runs, connectors as assets, operations as jobs, and sensors.

Operates connectors over REST only, so also on clusters of Java workers.
"""

from dagster_shared.libraries import DagsterLibraryRegistry

import connect_dagster
from connect_dagster.client.datasets import (
    KafkaConnectBucketProps,
    KafkaConnectConnectorProps,
    KafkaConnectDatasetProps,
    KafkaConnectFileProps,
    KafkaConnectTableProps,
    KafkaConnectTopicProps,
)
from connect_dagster.client.rest_client import KafkaConnectClient, KafkaConnectError, RetryPolicy
from connect_dagster.orchestration.asset_decorator import (
    build_kafka_connect_assets_definitions,
    kafka_connect_assets,
)
from connect_dagster.orchestration.assets.metadata_sets import KafkaConnectMetadataSet, KafkaConnectTagSet
from connect_dagster.orchestration.assets.specs import ConnectorSelectorFn
from connect_dagster.orchestration.assets.translator import DagsterKafkaConnectTranslator
from connect_dagster.orchestration.assets.workspace_data import KafkaConnectConnectorData, KafkaConnectWorkspaceData
from connect_dagster.orchestration.checks.capture import build_binlog_retention_checks
from connect_dagster.orchestration.checks.config_drift import build_connector_config_drift_checks
from connect_dagster.orchestration.checks.data import (
    DataSide,
    FileLines,
    QueriedRows,
    TopicRecords,
    build_connector_data_checks,
)
from connect_dagster.orchestration.checks.dead_letters import build_dead_letter_checks
from connect_dagster.orchestration.checks.lag import build_connector_lag_checks
from connect_dagster.orchestration.checks.mirror import (
    build_mirror_config_drift_checks,
    build_mirror_heartbeat_checks,
    build_mirror_lag_checks,
)
from connect_dagster.orchestration.checks.mirror_failover import build_mirror_failover_checks
from connect_dagster.orchestration.checks.mirror_matches import build_mirror_matches_checks
from connect_dagster.orchestration.checks.state import build_connector_state_checks
from connect_dagster.orchestration.components import (
    ConnectWorkerComponent,
    KafkaConnectConnectorComponent,
    KafkaConnectWorkspaceComponent,
    MirrorFlowComponent,
)
from connect_dagster.orchestration.connectors.spec import KafkaConnectConnectorSpec
from connect_dagster.orchestration.definitions import build_connector_definitions
from connect_dagster.orchestration.event_iterator import KafkaConnectApplyConfig, KafkaConnectEventIterator
from connect_dagster.orchestration.ops.capture import build_capture_signal_job
from connect_dagster.orchestration.ops.jobs import build_kafka_connect_jobs
from connect_dagster.orchestration.ops.mirror import build_mirror_failover_job
from connect_dagster.orchestration.ops.mirror_groups import build_mirror_sync_groups_job
from connect_dagster.orchestration.ops.ops import (
    build_kafka_connect_apply_op,
    kafka_connect_alter_offsets_op,
    kafka_connect_delete_op,
    kafka_connect_pause_op,
    kafka_connect_reset_offsets_op,
    kafka_connect_restart_op,
    kafka_connect_resume_op,
    kafka_connect_stop_op,
)
from connect_dagster.orchestration.resources import bundled
from connect_dagster.orchestration.resources.bundled import *  # noqa: F403
from connect_dagster.orchestration.resources.connector import ConnectorResource
from connect_dagster.orchestration.resources.resource_type import connector_resource_type
from connect_dagster.orchestration.sensors.attempts import BackOff
from connect_dagster.orchestration.sensors.auto_restart import build_kafka_connect_auto_restart_sensor
from connect_dagster.orchestration.sensors.connector import build_connector_sensor
from connect_dagster.orchestration.sensors.polling import build_kafka_connect_polling_sensor
from connect_dagster.orchestration.topic_assets import build_kafka_topic_assets
from connect_dagster.orchestration.topic_frames import KafkaPySparkResource
from connect_dagster.orchestration.workers.assets import build_connect_group_assets, build_worker_asset_spec
from connect_dagster.orchestration.workers.definitions import build_connect_worker_definitions, numbered_workers
from connect_dagster.orchestration.workers.failure_sensor import build_connect_worker_failure_sensor
from connect_dagster.orchestration.workers.heartbeat_checks import build_worker_heartbeat_checks
from connect_dagster.orchestration.workers.job import build_connect_worker_job
from connect_dagster.orchestration.workers.keepalive_sensor import build_connect_worker_keepalive_sensor
from connect_dagster.orchestration.workers.mirror_maker import MirrorMakerResource
from connect_dagster.orchestration.workers.resource import (
    ConnectWorkerResource,
    HostedProcess,
    HostedWorker,
    StandaloneConnectWorkerResource,
)
from connect_dagster.orchestration.workspace import (
    KafkaConnectWorkspace,
    build_kafka_connect_asset_specs,
    load_kafka_connect_asset_specs,
)

__all__ = [
    "BackOff",
    "ConnectWorkerComponent",
    "ConnectWorkerResource",
    "ConnectorResource",
    "ConnectorSelectorFn",
    "DagsterKafkaConnectTranslator",
    "DataSide",
    "FileLines",
    "HostedProcess",
    "HostedWorker",
    "KafkaConnectApplyConfig",
    "KafkaConnectBucketProps",
    "KafkaConnectClient",
    "KafkaConnectConnectorComponent",
    "KafkaConnectConnectorData",
    "KafkaConnectConnectorProps",
    "KafkaConnectConnectorSpec",
    "KafkaConnectDatasetProps",
    "KafkaConnectError",
    "KafkaConnectEventIterator",
    "KafkaConnectFileProps",
    "KafkaConnectMetadataSet",
    "KafkaConnectTableProps",
    "KafkaConnectTagSet",
    "KafkaConnectTopicProps",
    "KafkaConnectWorkspace",
    "KafkaConnectWorkspaceComponent",
    "KafkaConnectWorkspaceData",
    "KafkaPySparkResource",
    "MirrorFlowComponent",
    "MirrorMakerResource",
    "QueriedRows",
    "RetryPolicy",
    "StandaloneConnectWorkerResource",
    "TopicRecords",
    "build_binlog_retention_checks",
    "build_capture_signal_job",
    "build_connect_group_assets",
    "build_connect_worker_definitions",
    "build_connect_worker_failure_sensor",
    "build_connect_worker_job",
    "build_connect_worker_keepalive_sensor",
    "build_connector_config_drift_checks",
    "build_connector_data_checks",
    "build_connector_definitions",
    "build_connector_lag_checks",
    "build_connector_sensor",
    "build_connector_state_checks",
    "build_dead_letter_checks",
    "build_kafka_connect_apply_op",
    "build_kafka_connect_asset_specs",
    "build_kafka_connect_assets_definitions",
    "build_kafka_connect_auto_restart_sensor",
    "build_kafka_connect_jobs",
    "build_kafka_connect_polling_sensor",
    "build_kafka_topic_assets",
    "build_mirror_config_drift_checks",
    "build_mirror_failover_checks",
    "build_mirror_failover_job",
    "build_mirror_heartbeat_checks",
    "build_mirror_lag_checks",
    "build_mirror_matches_checks",
    "build_mirror_sync_groups_job",
    "build_worker_asset_spec",
    "build_worker_heartbeat_checks",
    "connector_resource_type",
    "kafka_connect_alter_offsets_op",
    "kafka_connect_assets",
    "kafka_connect_delete_op",
    "kafka_connect_pause_op",
    "kafka_connect_reset_offsets_op",
    "kafka_connect_restart_op",
    "kafka_connect_resume_op",
    "kafka_connect_stop_op",
    "load_kafka_connect_asset_specs",
    "numbered_workers",
]
__all__ += bundled.__all__

# Not one of Dagster's own packages, whose versions are to be the core's.
DagsterLibraryRegistry.register("connect-dagster", connect_dagster.__version__, is_dagster_package=False)

from connect_dagster.orchestration import (
    BackOff as BackOff,
)
from connect_dagster.orchestration import (
    ConnectorResource as ConnectorResource,
)
from connect_dagster.orchestration import (
    ConnectorSelectorFn as ConnectorSelectorFn,
)
from connect_dagster.orchestration import (
    ConnectWorkerComponent as ConnectWorkerComponent,
)
from connect_dagster.orchestration import (
    ConnectWorkerResource as ConnectWorkerResource,
)
from connect_dagster.orchestration import (
    DagsterKafkaConnectTranslator as DagsterKafkaConnectTranslator,
)
from connect_dagster.orchestration import (
    DataSide as DataSide,
)
from connect_dagster.orchestration import (
    FileLines as FileLines,
)
from connect_dagster.orchestration import (
    FileStreamSinkResource as FileStreamSinkResource,
)
from connect_dagster.orchestration import (
    FileStreamSourceResource as FileStreamSourceResource,
)
from connect_dagster.orchestration import (
    HostedWorker as HostedWorker,
)
from connect_dagster.orchestration import (
    JdbcSinkResource as JdbcSinkResource,
)
from connect_dagster.orchestration import (
    JdbcSourceResource as JdbcSourceResource,
)
from connect_dagster.orchestration import (
    KafkaConnectApplyConfig as KafkaConnectApplyConfig,
)
from connect_dagster.orchestration import (
    KafkaConnectBucketProps as KafkaConnectBucketProps,
)
from connect_dagster.orchestration import (
    KafkaConnectClient as KafkaConnectClient,
)
from connect_dagster.orchestration import (
    KafkaConnectConnectorComponent as KafkaConnectConnectorComponent,
)
from connect_dagster.orchestration import (
    KafkaConnectConnectorData as KafkaConnectConnectorData,
)
from connect_dagster.orchestration import (
    KafkaConnectConnectorProps as KafkaConnectConnectorProps,
)
from connect_dagster.orchestration import (
    KafkaConnectConnectorSpec as KafkaConnectConnectorSpec,
)
from connect_dagster.orchestration import (
    KafkaConnectDatasetProps as KafkaConnectDatasetProps,
)
from connect_dagster.orchestration import (
    KafkaConnectError as KafkaConnectError,
)
from connect_dagster.orchestration import (
    KafkaConnectEventIterator as KafkaConnectEventIterator,
)
from connect_dagster.orchestration import (
    KafkaConnectFileProps as KafkaConnectFileProps,
)
from connect_dagster.orchestration import (
    KafkaConnectMetadataSet as KafkaConnectMetadataSet,
)
from connect_dagster.orchestration import (
    KafkaConnectTableProps as KafkaConnectTableProps,
)
from connect_dagster.orchestration import (
    KafkaConnectTagSet as KafkaConnectTagSet,
)
from connect_dagster.orchestration import (
    KafkaConnectTopicProps as KafkaConnectTopicProps,
)
from connect_dagster.orchestration import (
    KafkaConnectWorkspace as KafkaConnectWorkspace,
)
from connect_dagster.orchestration import (
    KafkaConnectWorkspaceComponent as KafkaConnectWorkspaceComponent,
)
from connect_dagster.orchestration import (
    KafkaConnectWorkspaceData as KafkaConnectWorkspaceData,
)
from connect_dagster.orchestration import (
    KafkaPySparkResource as KafkaPySparkResource,
)
from connect_dagster.orchestration import (
    QueriedRows as QueriedRows,
)
from connect_dagster.orchestration import (
    RetryPolicy as RetryPolicy,
)
from connect_dagster.orchestration import (
    SinkConnectorResource as SinkConnectorResource,
)
from connect_dagster.orchestration import (
    SourceConnectorResource as SourceConnectorResource,
)
from connect_dagster.orchestration import (
    SparkSinkResource as SparkSinkResource,
)
from connect_dagster.orchestration import (
    SparkSourceResource as SparkSourceResource,
)
from connect_dagster.orchestration import (
    StandaloneConnectWorkerResource as StandaloneConnectWorkerResource,
)
from connect_dagster.orchestration import (
    TopicRecords as TopicRecords,
)
from connect_dagster.orchestration import (
    build_connect_group_assets as build_connect_group_assets,
)
from connect_dagster.orchestration import (
    build_connect_worker_definitions as build_connect_worker_definitions,
)
from connect_dagster.orchestration import (
    build_connect_worker_failure_sensor as build_connect_worker_failure_sensor,
)
from connect_dagster.orchestration import (
    build_connect_worker_job as build_connect_worker_job,
)
from connect_dagster.orchestration import (
    build_connect_worker_keepalive_sensor as build_connect_worker_keepalive_sensor,
)
from connect_dagster.orchestration import (
    build_connector_config_drift_checks as build_connector_config_drift_checks,
)
from connect_dagster.orchestration import (
    build_connector_data_checks as build_connector_data_checks,
)
from connect_dagster.orchestration import (
    build_connector_definitions as build_connector_definitions,
)
from connect_dagster.orchestration import (
    build_connector_lag_checks as build_connector_lag_checks,
)
from connect_dagster.orchestration import (
    build_connector_sensor as build_connector_sensor,
)
from connect_dagster.orchestration import (
    build_connector_state_checks as build_connector_state_checks,
)
from connect_dagster.orchestration import (
    build_dead_letter_checks as build_dead_letter_checks,
)
from connect_dagster.orchestration import (
    build_kafka_connect_apply_op as build_kafka_connect_apply_op,
)
from connect_dagster.orchestration import (
    build_kafka_connect_asset_specs as build_kafka_connect_asset_specs,
)
from connect_dagster.orchestration import (
    build_kafka_connect_assets_definitions as build_kafka_connect_assets_definitions,
)
from connect_dagster.orchestration import (
    build_kafka_connect_auto_restart_sensor as build_kafka_connect_auto_restart_sensor,
)
from connect_dagster.orchestration import (
    build_kafka_connect_jobs as build_kafka_connect_jobs,
)
from connect_dagster.orchestration import (
    build_kafka_connect_polling_sensor as build_kafka_connect_polling_sensor,
)
from connect_dagster.orchestration import (
    build_worker_asset_spec as build_worker_asset_spec,
)
from connect_dagster.orchestration import (
    build_worker_heartbeat_checks as build_worker_heartbeat_checks,
)
from connect_dagster.orchestration import (
    connector_resource_type as connector_resource_type,
)
from connect_dagster.orchestration import (
    kafka_connect_alter_offsets_op as kafka_connect_alter_offsets_op,
)
from connect_dagster.orchestration import (
    kafka_connect_assets as kafka_connect_assets,
)
from connect_dagster.orchestration import (
    kafka_connect_delete_op as kafka_connect_delete_op,
)
from connect_dagster.orchestration import (
    kafka_connect_pause_op as kafka_connect_pause_op,
)
from connect_dagster.orchestration import (
    kafka_connect_reset_offsets_op as kafka_connect_reset_offsets_op,
)
from connect_dagster.orchestration import (
    kafka_connect_restart_op as kafka_connect_restart_op,
)
from connect_dagster.orchestration import (
    kafka_connect_resume_op as kafka_connect_resume_op,
)
from connect_dagster.orchestration import (
    kafka_connect_stop_op as kafka_connect_stop_op,
)
from connect_dagster.orchestration import (
    load_kafka_connect_asset_specs as load_kafka_connect_asset_specs,
)
from connect_dagster.orchestration import (
    numbered_workers as numbered_workers,
)

__version__: str

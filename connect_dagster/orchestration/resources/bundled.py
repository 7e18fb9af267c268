"""Resources for the plugins that ship, a field for each key.

Written by ``tests/unit/orchestration/typed_resource_source``, not by hand.
"""

from pydantic import Field

from connect_dagster.orchestration.resources.connector import ConnectorResource


class FrameworkConnectorResource(ConnectorResource):
    """A connector, with a field for each key that Kafka Connect itself knows."""

    connector_plugin_version: str | None = Field(
        default=None,
        description="Version of the connector's class.",
        json_schema_extra={"connector_config_key": "connector.plugin.version"},
    )
    tasks_max_enforce: bool | None = Field(
        default=None,
        description="Whether a connector that wants more tasks than tasks.max fails (deprecated). Default: true.",
        json_schema_extra={"connector_config_key": "tasks.max.enforce"},
    )
    key_converter: str | None = Field(
        default=None,
        description="Converter of keys instead of the worker's; key.converter.* are its options.",
        json_schema_extra={"connector_config_key": "key.converter"},
    )
    key_converter_plugin_version: str | None = Field(
        default=None,
        description="Version of the key converter.",
        json_schema_extra={"connector_config_key": "key.converter.plugin.version"},
    )
    value_converter: str | None = Field(
        default=None,
        description="Converter of values instead of the worker's; value.converter.* are its options.",
        json_schema_extra={"connector_config_key": "value.converter"},
    )
    value_converter_plugin_version: str | None = Field(
        default=None,
        description="Version of the value converter.",
        json_schema_extra={"connector_config_key": "value.converter.plugin.version"},
    )
    header_converter: str | None = Field(
        default=None,
        description="Converter of header values instead of the worker's; header.converter.* are its options.",
        json_schema_extra={"connector_config_key": "header.converter"},
    )
    header_converter_plugin_version: str | None = Field(
        default=None,
        description="Version of the header converter.",
        json_schema_extra={"connector_config_key": "header.converter.plugin.version"},
    )
    transforms: list[str] | None = Field(
        default=None,
        description="Names of the transformations in their order; transforms.<name>.* configures one.",
        json_schema_extra={"connector_config_key": "transforms"},
    )
    predicates: list[str] | None = Field(
        default=None,
        description="Names of the predicates that transformations refer to; predicates.<name>.* configures one.",
        json_schema_extra={"connector_config_key": "predicates"},
    )
    config_action_reload: str | None = Field(
        default=None,
        description=(
            "What happens when a value from a config provider changes: restart the connector, or none. Default: "
            "restart."
        ),
        json_schema_extra={"connector_config_key": "config.action.reload"},
    )
    errors_retry_timeout: int | None = Field(
        default=None,
        description=(
            "Milliseconds during which a failed operation is tried again; 0 is never, -1 is for ever. Default: 0."
        ),
        json_schema_extra={"connector_config_key": "errors.retry.timeout"},
    )
    errors_retry_delay_max_ms: int | None = Field(
        default=None,
        description="Longest time between two tries. Default: 60000.",
        json_schema_extra={"connector_config_key": "errors.retry.delay.max.ms"},
    )
    errors_tolerance: str | None = Field(
        default=None,
        description=(
            "Whether a record that cannot be handled fails the task (none) or is left out (all). Default: none."
        ),
        json_schema_extra={"connector_config_key": "errors.tolerance"},
    )
    errors_log_enable: bool | None = Field(
        default=None,
        description="Whether tolerated errors are logged too. Default: false.",
        json_schema_extra={"connector_config_key": "errors.log.enable"},
    )
    errors_log_include_messages: bool | None = Field(
        default=None,
        description="Whether the log shows the record that could not be handled. Default: false.",
        json_schema_extra={"connector_config_key": "errors.log.include.messages"},
    )


class SourceConnectorResource(FrameworkConnectorResource):
    """A source, with a field for each key that every source has."""

    topic_creation_groups: list[str] | None = Field(
        default=None,
        description="Groups of topics to create; topic.creation.<group>.* configures one.",
        json_schema_extra={"connector_config_key": "topic.creation.groups"},
    )
    exactly_once_support: str | None = Field(
        default=None,
        description=(
            "Whether the connector is refused when it cannot deliver exactly once (required). Default: requested."
        ),
        json_schema_extra={"connector_config_key": "exactly.once.support"},
    )
    transaction_boundary: str | None = Field(
        default=None,
        description=(
            "What a transaction holds: one poll, all records of an interval, or what the connector says. Default: poll."
        ),
        json_schema_extra={"connector_config_key": "transaction.boundary"},
    )
    transaction_boundary_interval_ms: int | None = Field(
        default=None,
        description=(
            "Milliseconds of an interval for transaction.boundary=interval; unset: the worker's flush interval."
        ),
        json_schema_extra={"connector_config_key": "transaction.boundary.interval.ms"},
    )
    offsets_storage_topic: str | None = Field(
        default=None,
        description="Topic for this connector's offsets instead of the worker's; no effect in standalone mode.",
        json_schema_extra={"connector_config_key": "offsets.storage.topic"},
    )
    errors_deadletterqueue_topic_name: str | None = Field(
        default=None,
        description=(
            "Topic for records that could not be handled, as they were polled; empty for none. Kafka Connect has it "
            "for sinks only."
        ),
        json_schema_extra={"connector_config_key": "errors.deadletterqueue.topic.name"},
    )
    errors_deadletterqueue_topic_replication_factor: int | None = Field(
        default=None,
        description="Replication factor of that topic when it has to be created. Default: 3.",
        json_schema_extra={"connector_config_key": "errors.deadletterqueue.topic.replication.factor"},
    )
    errors_deadletterqueue_context_headers_enable: bool | None = Field(
        default=None,
        description="Whether such records get headers __connect.errors.* that tell what went wrong. Default: false.",
        json_schema_extra={"connector_config_key": "errors.deadletterqueue.context.headers.enable"},
    )


class SinkConnectorResource(FrameworkConnectorResource):
    """A sink, with a field for each key that every sink has."""

    topics: list[str] | None = Field(
        default=None,
        description="Topics to read.",
        json_schema_extra={"connector_config_key": "topics"},
    )
    topics_regex: str | None = Field(
        default=None,
        description="Regular expression of the topics to read, instead of topics.",
        json_schema_extra={"connector_config_key": "topics.regex"},
    )
    errors_deadletterqueue_topic_name: str | None = Field(
        default=None,
        description="Topic for records that could not be handled; empty for none.",
        json_schema_extra={"connector_config_key": "errors.deadletterqueue.topic.name"},
    )
    errors_deadletterqueue_topic_replication_factor: int | None = Field(
        default=None,
        description="Replication factor of that topic when it has to be created. Default: 3.",
        json_schema_extra={"connector_config_key": "errors.deadletterqueue.topic.replication.factor"},
    )
    errors_deadletterqueue_context_headers_enable: bool | None = Field(
        default=None,
        description="Whether such records get headers __connect.errors.* that tell what went wrong. Default: false.",
        json_schema_extra={"connector_config_key": "errors.deadletterqueue.context.headers.enable"},
    )


class FileStreamSourceResource(SourceConnectorResource):
    """A file whose lines become records of a topic."""

    connector_class: str = Field(
        default="org.apache.kafka.connect.file.FileStreamSourceConnector",
        description="Its plugin, as `connector.class` takes it.",
    )
    file: str | None = Field(
        default=None,
        description="File to read lines from. Standard input is read when it is left out.",
        json_schema_extra={"connector_config_key": "file"},
    )
    topic: str = Field(
        description="Topic that receives a record for each line.",
        json_schema_extra={"connector_config_key": "topic"},
    )
    batch_size: int | None = Field(
        default=None,
        description=(
            "Most lines to read at once. Left out, a batch holds what was read in one go, up to 8 MB. Default: 2000."
        ),
        json_schema_extra={"connector_config_key": "batch.size"},
    )
    invalid_utf8: str | None = Field(
        default=None,
        description=(
            "Bytes that are not UTF-8: 'replace' puts U+FFFD in their place, 'fail' makes the task FAILED. Default: "
            "replace."
        ),
        json_schema_extra={"connector_config_key": "invalid.utf8"},
    )


class FileStreamSinkResource(SinkConnectorResource):
    """A file that gets a line for each record of its topics."""

    connector_class: str = Field(
        default="org.apache.kafka.connect.file.FileStreamSinkConnector",
        description="Its plugin, as `connector.class` takes it.",
    )
    file: str | None = Field(
        default=None,
        description="File to append lines to. Standard output is written when it is left out.",
        json_schema_extra={"connector_config_key": "file"},
    )

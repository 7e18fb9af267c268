"""The job ``capture_signal``: a signal to a connector of change data capture, such as for an incremental snapshot."""

import json
import uuid
from collections.abc import Mapping
from typing import Any

import dagster as dg
from pydantic import Field

from connect_dagster.client.captures import is_capture, topic_prefix
from connect_dagster.client.types import Connector
from connect_dagster.kafka import clients
from connect_dagster.kafka.access import Bootstrap, client_settings
from connect_dagster.kafka.errors import BrokersError, brokers_errors
from connect_dagster.orchestration.cluster import check_brokers
from connect_dagster.orchestration.failures import one_sentence
from connect_dagster.orchestration.ops.jobs import single_op_job
from connect_dagster.orchestration.workspace import KafkaConnectWorkspace

SIGNAL_JOB = "capture_signal"
_CHANNELS, _TOPIC = "signal.enabled.channels", "signal.kafka.topic"
_PARTITION = 0


class SignalConfig(dg.Config):
    """A signal."""

    connector: str = Field(default="", description="Name of the connector.")
    type: str = Field(default="execute-snapshot", description="Debezium's name of the action.")
    data: dict[str, Any] = Field(
        default={},
        description='What the action needs, as {"type": "incremental", "data-collections": ["shop.orders"]}.',
    )
    timeout: float = Field(default=30.0, gt=0, description="Longest wait for the brokers, in seconds.")


def build_capture_signal_job(*, workspace: KafkaConnectWorkspace, name: str = SIGNAL_JOB) -> dg.JobDefinition:
    """Create the job ``capture_signal``, which writes a signal to the topic from which a connector reads its signals.

    The connector must have ``kafka`` among its ``signal.enabled.channels``, and the topic must be on the brokers of the
    workspace. The run succeeds when the brokers have the signal; what the connector makes of it is in its notifications
    and its log.

    Args:
        workspace (KafkaConnectWorkspace): The Connect cluster, with ``bootstrap_servers``.
        name (str): The job's name. Defaults to ``capture_signal``.

    Returns:
        JobDefinition: The job.

    Raises:
        DagsterInvalidDefinitionError: The workspace has no brokers.

    Examples:
        .. code-block:: python

            import dagster as dg
            from connect_dagster.orchestration import KafkaConnectWorkspace, build_capture_signal_job

            workspace = KafkaConnectWorkspace(bootstrap_servers="127.0.0.1:9092")
            defs = dg.Definitions(jobs=[build_capture_signal_job(workspace=workspace)])
    """
    check_brokers(workspace, "The job writes to a topic")

    @dg.op(name=f"{name}_op")
    def capture_signal_op(
        context: dg.OpExecutionContext, config: SignalConfig, kafka_connect: KafkaConnectWorkspace
    ) -> None:
        """Sends a signal to a connector."""
        with one_sentence():
            connectors = kafka_connect.get_client().connectors()
        topic, key = signal_place(config.connector, connectors)
        number = str(uuid.uuid4())
        brokers = kafka_connect.brokers
        assert brokers is not None  # no job is made without
        send_signal(brokers, topic, key, {"id": number, "type": config.type, "data": config.data}, config.timeout)
        context.add_output_metadata({"topic": topic, "signal_id": number, "type": config.type})

    description = "Sends a signal to a connector of change data capture."
    return single_op_job(name, capture_signal_op, SignalConfig(), workspace, description=description)


def signal_place(name: str, connectors: Mapping[str, Connector]) -> tuple[str, str]:
    """Return the topic of a connector's signals, and the key that they have.

    Args:
        name: Of the connector.
        connectors: All of the cluster, by name.

    Raises:
        Failure: The connector does not exist, captures no changes, or does not read signals from a topic.
    """
    connector = connectors.get(name)
    if connector is None:
        known = ", ".join(sorted(one for one, found in connectors.items() if is_capture(found))) or "none"
        raise dg.Failure(f"The connector {name!r} does not exist. Those that capture changes: {known}.")
    if not is_capture(connector):
        raise dg.Failure(f"The connector '{name}' does not capture the changes of MySQL or MariaDB.")
    config = connector.info.config
    channels = [one.strip() for one in (config.get(_CHANNELS) or "source").split(",")]
    prefix = topic_prefix(config) or ""
    if "kafka" not in channels:
        raise dg.Failure(
            f"The connector '{name}' reads no signals from a topic: set {_CHANNELS} to source,kafka (it is "
            f"{','.join(channels)}), and signal.kafka.bootstrap.servers to the brokers."
        )
    return config.get(_TOPIC) or f"{prefix}-signal", prefix


def send_signal(brokers: Bootstrap, topic: str, key: str, signal: Mapping[str, Any], timeout: float) -> None:
    """Write a signal, and wait for its acknowledgement.

    Args:
        brokers: Of the topic.
        topic: Of signals.
        key: Of the connector.
        signal: Its id, type and data.
        timeout: Longest wait, in seconds.

    Raises:
        Failure: The brokers did not take it in time.
    """
    try:
        with brokers_errors():
            producer = clients.producer(
                {**client_settings(brokers), "delivery.timeout.ms": str(int(timeout * 1000)), "linger.ms": "0"}
            )
            failures: list[str] = []
            producer.produce(
                topic,
                json.dumps(signal),
                key,
                partition=_PARTITION,
                on_delivery=lambda error, _: failures.append(error.str()) if error else None,
            )
            left = producer.flush(timeout)
    except BrokersError as error:
        raise dg.Failure(f"The signal cannot be written to {topic}: {error}") from error
    if left or failures:
        reason = failures[0] if failures else "the brokers do not respond in time"
        raise dg.Failure(f"The signal cannot be written to {topic}: {reason}.")

"""The names that dashboards ask for, and those that the documentation promises."""

import re
from pathlib import Path

import pytest

from connect_dagster.connectors.mirror.metrics import CHECKPOINTS, PARTITIONS
from connect_dagster.worker.metrics.clients import CLIENT_GROUPS
from connect_dagster.worker.metrics.groups import GROUPS

DECISION = Path(__file__).parents[3] / "docs" / "decisions" / "0008-metric-names.md"
NAMES = {
    f"{group.prefix}_{name}".replace("-", "_")
    for group in (*GROUPS, *CLIENT_GROUPS, PARTITIONS, CHECKPOINTS)
    for name in (*group.numbers, *group.texts)
}


@pytest.mark.parametrize(
    "name",
    [
        # Strimzi's Grafana dashboard for Kafka Connect, and its alerts.
        "kafka_connect_connector_status",
        "kafka_connect_connector_connector_class",
        "kafka_connect_connector_connector_type",
        "kafka_connect_connector_connector_version",
        "kafka_connect_connector_task_status",
        "kafka_connect_coordinator_assigned_connectors",
        "kafka_connect_coordinator_assigned_tasks",
        "kafka_connect_task_error_total_record_failures",
        "kafka_connect_worker_connector_count",
        "kafka_connect_worker_connector_destroyed_task_count",
        "kafka_connect_worker_connector_failed_task_count",
        "kafka_connect_worker_connector_paused_task_count",
        "kafka_connect_worker_connector_running_task_count",
        "kafka_connect_worker_connector_unassigned_task_count",
        "kafka_connect_worker_rebalance_rebalancing",
        "kafka_connect_worker_task_count",
        # Strimzi's dashboard for MirrorMaker 2.
        "kafka_connect_mirror_mirrorsourceconnector_record_age_ms",
        "kafka_connect_mirror_mirrorsourceconnector_replication_latency_ms",
        "kafka_connect_mirror_mirrorsourceconnector_byte_rate",
        "kafka_connect_mirror_mirrorcheckpointconnector_checkpoint_latency_ms",
    ],
)
def test_names_that_dashboards_ask_for(name: str) -> None:
    assert name in NAMES


def test_names_of_the_documentation() -> None:
    promised = set(
        re.findall(r"`(kafka_(?:connect|producer|consumer)_\w+[a-z])`", DECISION.read_text(encoding="utf-8"))
    )
    assert len(promised) > 10
    assert promised - NAMES == set()

"""How fast the polling sensor fills an event log that nothing ever prunes."""

from pathlib import Path

import dagster as dg
import pytest
from dagster import AssetCheckEvaluation, AssetMaterialization, AssetObservation

from connect_dagster.herder.interface import ConnectorOffset
from connect_dagster.orchestration import build_kafka_connect_polling_sensor
from connect_dagster.orchestration.sensors.polling import EVENT_INTERVAL_SECONDS
from tests.unit.orchestration.connect_server import ConnectServer, connect_server

pytestmark = pytest.mark.nightly

CONNECTORS, ROUNDS, BOUND = 10, 12, 20_000_000
URL = "jdbc:mysql://localhost:3306/kafkadb?user=kafka&password=kafka123"


def test_ten_busy_connectors_add_at_most_20_mb_a_day(tmp_path: Path) -> None:
    with dg.instance_for_test(temp_dir=str(tmp_path)) as instance, connect_server() as server:
        for number in range(CONNECTORS):
            server.create(f"c{number}", topic=f"t{number}", connection_url=URL, tasks_max="2")
        sensor = build_kafka_connect_polling_sensor(workspace=server.workspace, event_interval_seconds=0)
        cursor, sizes = None, []
        for position in range(ROUNDS):
            _advance(server, position)
            with dg.build_sensor_context(instance=instance, cursor=cursor) as context:
                result = sensor.evaluate_tick(context)
            # The first look at a connector evaluates its check too.
            assert len(result.asset_events) == (2 if position else 3) * CONNECTORS
            for event in result.asset_events:
                assert isinstance(event, AssetObservation | AssetMaterialization | AssetCheckEvaluation)
                instance.report_runless_asset_event(event)
            cursor = result.cursor
            sizes.append(_size(tmp_path))
    # The first rounds make tables and indexes.
    per_round = (sizes[-1] - sizes[2]) / (ROUNDS - 3)
    per_day = per_round * 24 * 3600 / EVENT_INTERVAL_SECONDS
    print(f"{CONNECTORS} busy connectors add {per_day / 1e6:.1f} MB a day")  # noqa: T201
    assert per_day <= BOUND


def _advance(server: ConnectServer, position: int) -> None:
    offsets = [ConnectorOffset({"protocol": "1", "table": "kafkadb.products"}, {"incrementing": position})]
    server.herder.offsets |= {f"c{number}": offsets for number in range(CONNECTORS)}


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())

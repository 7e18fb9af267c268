from typing import Any

from dagster import TableMetadataValue

from connect_dagster.orchestration.workers.group import worker_group
from connect_dagster.orchestration.workers.group_metadata import (
    configs_metadata,
    group_metadata,
    offsets_metadata,
    statuses_metadata,
)
from connect_dagster.orchestration.workers.group_topics import StoredConfig, StoredConfigs, StoredOffset, StoredStatus
from connect_dagster.protocol.states import State
from tests.unit.orchestration.workers.test_group import seed_group


def rows(metadata: dict[str, Any], name: str) -> list[dict[str, Any]]:
    table = metadata[name]
    assert isinstance(table, TableMetadataValue)
    return [dict(record.data) for record in table.records]


def test_s3_05_members_with_their_numbers() -> None:
    told = group_metadata(worker_group(seed_group(), 7))
    assert (told["member_count"], told["generation"], told["config_offset"]) == (4, 7, 3)
    assert [(row["leader"], row["config_offset"], row["generation"]) for row in rows(told, "members")] == [
        (True, 3, 7),
        (False, 3, 7),
        (False, 3, 7),
        (False, 3, 7),
    ]


def test_a_generation_that_is_not_known_is_left_out() -> None:
    told = group_metadata(worker_group(seed_group(), None))
    assert "generation" not in told
    assert {row["generation"] for row in rows(told, "members")} == {-1}


def test_s3_04_configs_show_names_of_properties_alone() -> None:
    config = {"connection.password": "kafka123", "connection.url": "jdbc:mysql://db/x?password=kafka123"}
    told = configs_metadata(StoredConfigs({"jdbc": StoredConfig("jdbc", "PAUSED", 3, config)}, 12))
    assert rows(told, "connectors") == [
        {
            "connector": "jdbc",
            "target_state": "PAUSED",
            "tasks": 3,
            "consistent": True,
            "properties": "connection.password, connection.url",
        }
    ]
    assert (told["connector_count"], told["task_count"], told["config_offset"]) == (1, 3, 12)
    assert "kafka123" not in str(told)


def test_s3_04_offsets_show_partition_and_value() -> None:
    told = offsets_metadata([StoredOffset("c", {"protocol": "1", "table": "kafkadb.products"}, {"incrementing": 3})])
    assert rows(told, "offsets") == [
        {
            "connector": "c",
            "partition": '{"protocol": "1", "table": "kafkadb.products"}',
            "offset": '{"incrementing": 3}',
        }
    ]
    assert (told["partition_count"], told["connector_count"]) == (1, 1)


def test_s3_04_statuses_show_states_with_their_generation() -> None:
    trace = "java.lang.Error: cannot reach jdbc:mysql://u:kafka123@db/x with connect_dev\n\tat somewhere"
    config = StoredConfig("c", "STARTED", 1, {"database.password": "connect_dev"})
    told = statuses_metadata(
        [
            StoredStatus("c", None, State.RUNNING, "w:1", 4, "4.3.1", None),
            StoredStatus("c", 0, State.FAILED, "w:2", 5, "4.3.1", trace),
        ],
        StoredConfigs({"c": config}, 3),
    )
    first, second = rows(told, "states")
    assert (first["task"], first["state"], first["generation"], first["trace"]) == ("", "RUNNING", 4, "")
    assert (second["task"], second["state"], second["worker_id"], second["generation"]) == ("0", "FAILED", "w:2", 5)
    assert second["trace"] == "java.lang.Error: cannot reach jdbc:mysql://u:********@db/x with ********"
    assert (told["connector_count"], told["task_count"], told["tasks_failed"], told["generation"]) == (1, 1, 1, 5)


def test_topics_without_records_show_empty_tables() -> None:
    assert rows(configs_metadata(StoredConfigs({}, -1)), "connectors") == []
    assert rows(offsets_metadata([]), "offsets") == []
    assert statuses_metadata([], StoredConfigs({}, -1))["generation"] == 0

from pathlib import Path

import pytest

from connect_dagster.errors import ConfigError
from connect_dagster.java.properties import parse_properties
from connect_dagster.orchestration.workers.property_file import (
    effective,
    spark_properties,
    write_effective,
)


def test_a_file_is_copied_with_the_additions_at_its_end(tmp_path: Path) -> None:
    user = tmp_path / "worker.properties"
    user.write_text("# mine\ngroup.id=one\nlisteners=http://:8083")
    (tmp_path / "scratch").mkdir()
    written = write_effective(str(user), {"group.id": "two"}, tmp_path / "scratch")
    assert written.read_text() == "# mine\ngroup.id=one\nlisteners=http://:8083\ngroup.id=two\n"
    assert effective(str(user), {"group.id": "two"}) == {"group.id": "two", "listeners": "http://:8083"}
    assert written.stat().st_mode & 0o077 == 0


def test_a_file_without_additions_is_used_as_it_is(tmp_path: Path) -> None:
    user = tmp_path / "worker.properties"
    assert write_effective(str(user), {}, tmp_path) == user


def test_without_a_file_converters_are_given(tmp_path: Path) -> None:
    written = write_effective(None, {"group.id": "one"}, tmp_path)
    told = parse_properties(written.read_text(), "test")
    assert told == effective(None, {"group.id": "one"})
    assert told["key.converter"] == told["value.converter"] == "org.apache.kafka.connect.json.JsonConverter"


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"Cannot read .*/none\.properties: No such file"):
        effective(str(tmp_path / "none.properties"), {})


def test_spark_config_may_be_nested_as_in_dagster_pyspark() -> None:
    config = {"spark.driver.memory": "2g", "spark": {"sql": {"shuffle.partitions": 4}, "ui.enabled": False}}
    assert spark_properties(config) == {
        "spark.driver.memory": "2g",
        "spark.sql.shuffle.partitions": "4",
        "spark.ui.enabled": "false",
    }

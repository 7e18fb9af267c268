"""Drivers on `plugin.path`, and ours."""

import zipfile
from pathlib import Path

from connect_dagster.embedded.jars import resolve
from connect_dagster.worker.spark.settings import CLASS_PATH, driver_jars, spark_settings


def jar(path: Path, *entries: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for entry in entries:
            archive.writestr(entry, "org.example.Driver")
    return path


def test_jars_that_register_a_driver_go_before_ours(tmp_path: Path) -> None:
    service = "META-INF/services/java.sql.Driver"
    wanted = [
        jar(tmp_path / "one.jar", service),
        jar(tmp_path / "db" / "two.jar", service, "x.class"),
        jar(tmp_path / "kafka-connect-jdbc" / "lib" / "three.jar", service),
    ]
    jar(tmp_path / "other.jar", "x.class")
    (tmp_path / "broken.jar").write_bytes(b"no jar")
    found = driver_jars({"plugin.path": f" {tmp_path} ,"})
    assert found[:3] == wanted
    assert [path.name.rstrip(".jar0123456789-") for path in found[3:]] == ["mariadb-java-client", "postgresql"]


def test_ours_are_on_the_class_path() -> None:
    ours = [str(path) for path in driver_jars({})]
    assert spark_settings({"spark.driver.extraClassPath": "/x.jar"})[CLASS_PATH].split(":") == ["/x.jar", *ours]
    assert "spark.jars" not in spark_settings({})
    shipped = spark_settings({"spark.master": "spark://h:7077"})["spark.jars"].split(",")
    assert shipped == [*ours, *map(str, resolve("spark-kafka"))]

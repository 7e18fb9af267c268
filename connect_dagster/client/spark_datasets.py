"""Data that SparkSource reads and SparkSink writes, from their formats and options.

Data has one key whatever format reads it: a folder or an object store goes by its location, a table of a catalog or
of a database by its name. Formats without either, such as ``rate`` or ``socket``, have no such data.
"""

from collections.abc import Mapping
from urllib.parse import urlsplit

from connect_dagster.client.datasets import (
    KafkaConnectBucketProps,
    KafkaConnectDatasetProps,
    KafkaConnectFileProps,
    KafkaConnectTableProps,
)
from connect_dagster.client.jdbc_url import jdbc_database

OPTIONS = "options."
SPARK = "spark"
# Formats whose tables belong to a system, not to Spark's catalog alone.
_TABLE_FORMATS = {"delta": "deltalake", "hudi": "hudi", "iceberg": "iceberg"}
# Schemes of Hadoop's file systems; other ones are their own system's name.
_SYSTEMS = {"s3a": "s3", "s3n": "s3", "gs": "gcs", "abfss": "abfs", "wasbs": "wasb"}


def spark_system(config: Mapping[str, str | None]) -> str:
    """Return the kind of store that a connector reads or writes: that of a database or a table format, or Spark."""
    kind = _format(config)
    if kind == "jdbc":
        database = jdbc_database(_options(config).get("url", ""))
        return database.system if database else SPARK
    return kind if kind == "mongodb" else _TABLE_FORMATS.get(kind, SPARK)


def spark_dataset(config: Mapping[str, str | None]) -> KafkaConnectDatasetProps | None:
    """Return the data that a connector reads or writes; None when it is not known, as with a placeholder."""
    options, kind = _options(config), _format(config)
    if kind == "jdbc":
        return _database_table(options)
    if kind == "mongodb":
        names = (options.get("database"), options.get("collection"))
        return KafkaConnectTableProps("mongodb", (names[0], names[1])) if names[0] and names[1] else None
    table, path = config.get("table") or "", options.get("path", "")
    if kind == "iceberg" and path and not {"/", ":"} & set(path):
        table = table or path  # Iceberg takes a table's name there too
    if table:
        return None if "${" in table else KafkaConnectTableProps(_TABLE_FORMATS.get(kind, SPARK), _parts(table))
    return _location(path)


def _format(config: Mapping[str, str | None]) -> str:
    return (config.get("format") or "").lower()


def _options(config: Mapping[str, str | None]) -> dict[str, str]:
    """Return the options of the format by lower-case names, as Spark does not look at the case."""
    return {
        key.removeprefix(OPTIONS).lower(): value for key, value in config.items() if key.startswith(OPTIONS) and value
    }


def _database_table(options: Mapping[str, str]) -> KafkaConnectTableProps | None:
    database, table = jdbc_database(options.get("url", "")), options.get("dbtable", "")
    if database is None or not table or "(" in table or "${" in table:
        return None
    return KafkaConnectTableProps(database.system, database.table_path(table), database.server)


def _parts(table: str) -> tuple[str, ...]:
    return tuple(part.strip("`") for part in table.split("."))


def _location(path: str) -> KafkaConnectDatasetProps | None:
    if not path or "${" in path:
        return None
    url = urlsplit(path)
    if url.scheme in ("", "file"):
        return KafkaConnectFileProps(url.path if url.scheme else path)
    system = _SYSTEMS.get(url.scheme, url.scheme)
    # Before an @ Azure has the container, and S3 had credentials.
    place = url.netloc.rpartition("@")[2] if system == "s3" else url.netloc
    return KafkaConnectBucketProps(system, place, url.path.strip("/")) if place else None

"""Where SparkSource and SparkSink have their data, by their configurations."""

import pytest

from connect_dagster.client.connector_classes import Config
from connect_dagster.client.datasets import (
    KafkaConnectBucketProps,
    KafkaConnectDatasetProps,
    KafkaConnectFileProps,
    KafkaConnectTableProps,
)
from connect_dagster.client.lineage import connector_lineage
from connect_dagster.client.spark_datasets import spark_dataset, spark_system
from tests.unit.client.test_lineage import ends, table

SOURCE = {"name": "src", "connector.class": "connect_dagster.connectors.spark.source.SparkSourceConnector"}
SINK = {"name": "snk", "connector.class": "SparkSink"}
POSTGRES = {"format": "jdbc", "options.url": "jdbc:postgresql://db:5432/shop?user=u&password=p"}


@pytest.mark.parametrize(
    ("config", "dataset"),
    [
        ({"format": "parquet", "options.path": "/data/orders"}, KafkaConnectFileProps("/data/orders")),
        ({"format": "parquet", "options.path": "file:///data/orders"}, KafkaConnectFileProps("/data/orders")),
        (
            {"format": "delta", "options.path": "s3a://lake/raw/orders/"},
            KafkaConnectBucketProps("s3", "lake", "raw/orders"),
        ),
        ({"format": "csv", "options.path": "s3a://id:secret@lake/raw"}, KafkaConnectBucketProps("s3", "lake", "raw")),
        ({"format": "json", "options.path": "gs://lake/raw"}, KafkaConnectBucketProps("gcs", "lake", "raw")),
        (
            {"format": "orc", "options.path": "abfss://raw@acme.dfs.core.windows.net/orders"},
            KafkaConnectBucketProps("abfs", "raw@acme.dfs.core.windows.net", "orders"),
        ),
        (
            {"format": "orc", "options.path": "hdfs://nn:8020/orders"},
            KafkaConnectBucketProps("hdfs", "nn:8020", "orders"),
        ),
        ({"format": "iceberg", "table": "lake.shop.orders"}, table("iceberg", "lake", "shop", "orders")),
        ({"format": "iceberg", "options.path": "shop.orders"}, table("iceberg", "shop", "orders")),
        ({"format": "iceberg", "options.path": "/lake/orders"}, KafkaConnectFileProps("/lake/orders")),
        ({"format": "Delta", "table": "shop.`orders`"}, table("deltalake", "shop", "orders")),
        ({"format": "parquet", "table": "shop.orders"}, table("spark", "shop", "orders")),
        ({**POSTGRES, "options.dbTable": "orders"}, table("postgres", "shop", "public", "orders")),
        ({"format": "mongodb", "options.database": "shop", "options.collection": "o"}, table("mongodb", "shop", "o")),
        ({"format": "mongodb", "options.database": "shop"}, None),
        ({**POSTGRES, "options.dbtable": "(select 1) t"}, None),
        ({"format": "jdbc", "options.dbtable": "orders"}, None),
        ({"format": "rate"}, None),
        ({"format": "parquet", "options.path": "${file:/secrets:path}"}, None),
        ({"format": "delta", "table": "${env:TABLE}"}, None),
        ({"format": "parquet", "options.path": "dbfs:/data"}, None),
        ({}, None),
    ],
    ids=str,
)
def test_data_goes_by_its_location_or_by_its_name(config: Config, dataset: KafkaConnectDatasetProps | None) -> None:
    assert spark_dataset(config) == dataset


def test_the_server_of_a_table_is_known_without_credentials() -> None:
    found = spark_dataset({**POSTGRES, "options.dbtable": "orders"})
    assert isinstance(found, KafkaConnectTableProps)
    assert found.server == "db:5432"


@pytest.mark.parametrize(
    ("config", "system"),
    [
        (POSTGRES, "postgres"),
        ({"format": "delta"}, "deltalake"),
        ({"format": "mongodb"}, "mongodb"),
        ({"format": "parquet"}, "spark"),
        ({"format": "jdbc"}, "spark"),
    ],
    ids=str,
)
def test_the_system_is_that_of_a_database_or_table_format_or_spark(config: Config, system: str) -> None:
    assert spark_system(config) == system
    assert connector_lineage({**SINK, **config, "topics": "a"}).system == system


def test_a_source_reads_its_data_and_writes_its_topic() -> None:
    config = {**SOURCE, "format": "delta", "options.path": "/lake/orders", "topic": "orders"}
    assert ends(config, "orders") == [("/lake/orders", "orders")]
    assert ends({**SOURCE, "format": "rate", "topic": "ticks"}) == [("?", "ticks")]


def test_a_sink_writes_the_records_of_all_topics_to_one_place() -> None:
    config = {**SINK, "format": "iceberg", "table": "shop.orders", "topics": "orders, refunds"}
    assert ends(config) == [("orders", "iceberg shop.orders"), ("refunds", "iceberg shop.orders")]
    assert ends({**SINK, "format": "console", "topics": "orders"}) == [("orders", "?")]

"""The guide to files: its settings are valid, and its tables name what there is."""

import re
from pathlib import Path

from connect_dagster.connectors.object_store.arrow_store import failure_of
from connect_dagster.connectors.object_store.options import kind_of
from connect_dagster.connectors.object_store.s3_config import S3SinkConfig
from connect_dagster.connectors.spark.rotated_files import FORMATS
from connect_dagster.connectors.spark.sink import SparkSinkConfig
from connect_dagster.java.properties import parse_properties

GUIDE = Path(__file__).parents[4] / "docs" / "object_stores.md"
TEXT = GUIDE.read_text(encoding="utf-8")
FILES, HOURS = (
    parse_properties(block, GUIDE.name) for block in re.findall(r"```properties\n(.*?)```", TEXT, re.DOTALL)
)


def test_settings_are_valid() -> None:
    assert S3SinkConfig.parse(FILES).flush_size == 3
    assert SparkSinkConfig.parse(HOURS).file_settings().rules.interval == 3_600_000


def test_options_are_there() -> None:
    known = {key.name for config in (S3SinkConfig, SparkSinkConfig) for key in config.table()}
    named = set(re.findall(r"`((?:\w+\.)+\w+)(?:=[^`]*)?`", TEXT))
    others = {"connector.class", "errors.tolerance", "json.JsonFormat", "bytearray.ByteArrayFormat"}
    classes = {"io.confluent.connect.s3.S3SinkConnector", "parquet.ParquetFormat", "avro.AvroFormat"}
    assert named - known - others - classes == set()


def test_partitioners_and_formats_are_there() -> None:
    rows = re.findall(r"^\| ((?:`\w+Partitioner`(?:, )?)+) \| ((?:`\w+`(?:, )?)+) \|", TEXT, re.MULTILINE)
    assert sum(classes.count("`") // 2 for classes, _ in rows) == 5
    for classes, short in rows:
        assert list(map(kind_of, re.findall(r"\w+", classes))) == re.findall(r"\w+", short)
    assert ", ".join(FORMATS) in TEXT


def test_texts_of_errors() -> None:
    errors = {"NO_SUCH_BUCKET": "does not exist", "NETWORK_CONNECTION": "the server cannot be reached"}
    errors |= {"ACCESS_DENIED": "the credentials have no right to it", "INVALID_ACCESS_KEY_ID": "is not known there"}
    errors |= {"SIGNATURE_DOES_NOT_MATCH": "is not that of the access key"}
    for word, text in errors.items():
        assert text in failure_of(OSError(f"AWS Error {word} during PutObject operation: x"), "s3://lake").text
        assert text in TEXT

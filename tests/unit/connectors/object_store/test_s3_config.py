"""Options of Confluent's S3 sink."""

import logging

import pytest

from connect_dagster.connectors.object_store.rotation import RotationRules
from connect_dagster.connectors.object_store.s3_config import S3SinkConfig
from connect_dagster.connectors.object_store.stores import LocalStore
from connect_dagster.errors import ConfigError
from connect_dagster.plugin.records import TopicPartition

FORMATS = "io.confluent.connect.s3.format"
CONFIG = {
    "s3.bucket.name": "lake",
    "format.class": f"{FORMATS}.json.JsonFormat",
    "flush.size": "3",
    "storage.class": "io.confluent.connect.s3.storage.S3Storage",
    "schema.compatibility": "NONE",
}
DAILY = {
    "partitioner.class": "io.confluent.connect.storage.partitioner.DailyPartitioner",
    "rotate.interval.ms": "600000",
    "locale": "en-US",
    "timezone": "UTC",
}


def parsed(**options: str) -> S3SinkConfig:
    return S3SinkConfig.parse(CONFIG | {name.replace("__", "."): value for name, value in options.items()})


def test_a_usual_configuration() -> None:
    settings = S3SinkConfig.parse({**CONFIG, **DAILY}).file_settings()
    assert settings.rules == RotationRules(3, 600_000, ends_with_directory=True)
    assert settings.fails_at_null
    name = settings.names.of("orders", "year=2026", TopicPartition("orders", 1), 42, ".json")
    assert name == "topics/orders/year=2026/orders+1+0000000042.json"


def test_rotation_by_time_is_for_directories_by_time_as_in_confluents() -> None:
    assert parsed(rotate__interval__ms="1000").file_settings().rules.interval is None


def test_names_have_delimiters_and_digits() -> None:
    options = {"topics.dir": "raw/in", "directory.delim": "|", "file.delim": "-", "filename.offset.zero.pad.width": "3"}
    names = S3SinkConfig.parse({**CONFIG, **options}).file_settings().names
    assert names.of("t", "partition=0", TopicPartition("t", 0), 7, ".bin") == "raw/in|t|partition=0|t-0-007.bin"


def test_a_file_may_end_at_a_number_of_open_files_and_go_on_at_another_directory() -> None:
    options = {**CONFIG, **DAILY, "rotate.file.on.partition.change": "false", "partitioner.max.open.files": "5"}
    assert S3SinkConfig.parse(options).file_settings().rules == RotationRules(3, 600_000, files=5)


@pytest.mark.parametrize(
    ("options", "records", "reports"),
    [
        ({"behavior.on.null.values": "ignore"}, False, True),
        ({"behavior.on.null.values": "IGNORE", "report.null.values.to.dlq": "false"}, False, False),
        ({}, True, False),
    ],
)
def test_records_without_a_value(options: dict[str, str], records: bool, reports: bool) -> None:
    settings = S3SinkConfig.parse({**CONFIG, **options}).file_settings()
    assert (settings.fails_at_null, settings.reports_null) == (records, reports)


@pytest.mark.parametrize(
    ("name", "spark", "options"),
    [
        ("json.JsonFormat", "text", {"compression": "none", "lineSep": "\n"}),
        ("bytearray.ByteArrayFormat", "text", {"compression": "none", "lineSep": "\n"}),
        ("parquet.ParquetFormat", "parquet", {"compression": "snappy"}),
        ("avro.AvroFormat", "avro", {"compression": "uncompressed"}),
    ],
)
def test_formats(name: str, spark: str, options: dict[str, str]) -> None:
    found = S3SinkConfig.parse({**CONFIG, "format.class": f"{FORMATS}.{name}"}).file_settings().format
    assert (found.spark, found.options) == (spark, options)


def test_a_separator_with_escapes() -> None:
    options = {"format.class": f"{FORMATS}.bytearray.ByteArrayFormat", "format.bytearray.separator": r"\r\n|\\n"}
    assert S3SinkConfig.parse({**CONFIG, **options}).file_settings().format.options["lineSep"] == "\r\n|\\n"


def test_a_folder_in_place_of_a_server() -> None:
    assert isinstance(parsed(store__url="file:///data").store(), LocalStore)


def test_options_without_effect_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        parsed(s3__part__size="5242880", enhanced__avro__schema__support="true")
    assert [record.getMessage() for record in caplog.records] == [
        "s3.part.size is without effect here. Arrow's client chooses the parts of an upload."
    ]


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("s3.bucket.name", "a/b", "A bucket's name has"),
        ("format.class", "com.example.Mine", "Classes of the JVM cannot be loaded; it must be one of: io.confluent"),
        ("flush.size", "0", "Value must be at least 1"),
        ("rotate.schedule.interval.ms", "1000", "Invalid value  for configuration timezone: Timezone cannot be empty."),
        ("s3.region", "", "String must be non-empty"),
        ("s3.compression.type", "zip", "String must be one of: none, gzip"),
        ("parquet.codec", "lzo", "String must be one of: none, gzip, snappy"),
        ("avro.codec", "xz", "String must be one of: null, deflate"),
        ("json.decimal.format", "HEX", "String must be one of"),
        ("behavior.on.null.values", "write", r"String must be one of \(case insensitive\)"),
        ("s3.acl.canned", "mine", "String must be one of: private"),
        ("s3.part.retries", "-1", "Value must be at least 0"),
        ("aws.access.key.id", "key", "aws.access.key.id and aws.secret.access.key are given together"),
        ("aws.secret.access.key", "secret", "aws.access.key.id and aws.secret.access.key are given together"),
        ("store.url", "localhost:9000", "It must be a URL as http://host:port"),
        ("store.url", "http://localhost:x", "It must be a URL as http://host:port"),
        ("store.url", "http://localhost:9000/lake", "It must be a URL as http://host:port"),
        ("s3.proxy.url", "proxy:8080", "It must be a URL as http://host:port"),
        ("topics.dir", "../other", "It must not lead out of the bucket"),
        ("partitioner.max.open.files", "-2", "Value must be at least -1"),
        ("filename.offset.zero.pad.width", "-1", "Value must be at least 0"),
        ("directory.delim", "", "String must be non-empty"),
        ("s3.object.tagging", "true", "Arrow's client of S3 sets no tags"),
        ("s3.credentials.provider.class", "com.example.Mine", "Classes of the JVM cannot be loaded"),
        ("s3.ssea.name", "aws:kms", "set a default encryption of the bucket"),
        ("s3.sse.customer.key", "x", "set a default encryption of the bucket"),
        ("s3.wan.mode", "true", "no accelerated endpoint"),
        ("s3.compression.level", "9", "zlib's default level"),
        ("store.kafka.keys", "true", "Files of keys and headers are not written"),
        ("schema.compatibility", "BACKWARD", "Files end where the schema changes"),
        ("s3.schema.partition.affix.type", "PREFIX", "Directories do not have names of schemas"),
    ],
)
def test_a_wrong_value_is_an_error_of_its_key(name: str, value: str, text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        S3SinkConfig.parse({**CONFIG, name: value})
    found = {one.name: one.errors for one in S3SinkConfig.validate_all({**CONFIG, name: value}) if one.errors}
    assert len(found) == 1
    assert len(next(iter(found.values()))) == 1


def test_compression_is_for_lines() -> None:
    options = {"format.class": f"{FORMATS}.parquet.ParquetFormat", "s3.compression.type": "gzip"}
    with pytest.raises(ConfigError, match="Compression Type gzip not valid for data format class"):
        S3SinkConfig.parse({**CONFIG, **options})


@pytest.mark.parametrize("name", ["s3.bucket.name", "format.class", "flush.size"])
def test_what_must_be_given(name: str) -> None:
    with pytest.raises(ConfigError, match=f'Missing required configuration "{name}"'):
        S3SinkConfig.parse({key: value for key, value in CONFIG.items() if key != name})

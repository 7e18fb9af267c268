"""Configuration of ``io.confluent.connect.s3.S3SinkConnector``: names, types and defaults of Confluent's connector.

``rotate.bytes`` and ``spool.dir`` are ours, as are the URLs of folders in ``store.url``.
"""

from __future__ import annotations

import logging
import re
from typing import Any, Self
from urllib.parse import SplitResult, quote, urlsplit

from pyarrow import fs
from pydantic import model_validator

from connect_dagster.connectors.object_store.arrow_store import ArrowStore
from connect_dagster.connectors.object_store.file_names import FileNames
from connect_dagster.connectors.object_store.formats import FileFormat, bytes_as_lines, columns_of_fields
from connect_dagster.connectors.object_store.json_values import lines_of_json
from connect_dagster.connectors.object_store.options import RotationOptions
from connect_dagster.connectors.object_store.s3_options import NOT_SUPPORTED, WITHOUT_EFFECT, warnings
from connect_dagster.connectors.object_store.settings import FileSettings
from connect_dagster.connectors.object_store.store_urls import local_path
from connect_dagster.connectors.object_store.stores import LocalStore, Store
from connect_dagster.errors import ConfigError
from connect_dagster.plugin.config import (
    ConfigTable,
    FindClass,
    Importance,
    Password,
    Type,
    Width,
    at_least,
    between,
    config_group,
    config_key,
    non_empty_string,
    one_of,
    one_of_ignoring_case,
)
from connect_dagster.plugin.config.table import Properties

log = logging.getLogger(__name__)

JSON, BYTES, PARQUET, AVRO = "JsonFormat", "ByteArrayFormat", "ParquetFormat", "AvroFormat"
_FORMATS = (AVRO, JSON, BYTES, PARQUET)
_PARQUET_CODECS = {"none": "none", "gzip": "gzip", "snappy": "snappy", "lz4": "lz4", "zstd": "zstd", "brotli": "brotli"}
_AVRO_CODECS = {"null": "uncompressed", "deflate": "deflate", "snappy": "snappy", "bzip2": "bzip2"}
_ACLS = (
    "private",
    "public-read",
    "public-read-write",
    "authenticated-read",
    "log-delivery-write",
    "bucket-owner-read",
    "bucket-owner-full-control",
    "aws-exec-read",
)
_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,253}[A-Za-z0-9]")
_ESCAPES = {"\\n": "\n", "\\r": "\r", "\\t": "\t", "\\0": "\0", "\\\\": "\\"}


def _format_class(name: str, value: Any) -> None:
    if value is None or _format_name(value) not in _FORMATS:
        allowed = ", ".join(
            f"io.confluent.connect.s3.format.{one.removesuffix('Format').lower()}.{one}" for one in _FORMATS
        )
        raise ConfigError.invalid(name, value, f"Classes of the JVM cannot be loaded; it must be one of: {allowed}")


def _format_name(text: str) -> str:
    return text.rpartition(".")[2]


def _bucket(name: str, value: Any) -> None:
    if value is None or not _BUCKET.fullmatch(value):
        raise ConfigError.invalid(
            name, value, "A bucket's name has 3 to 255 letters, digits, dots, hyphens and underscores"
        )


def _acl(name: str, value: Any) -> None:
    if value is not None:
        one_of(*_ACLS)(name, value)


def _relative(name: str, value: Any) -> None:
    if ".." in (value or "").split("/"):
        raise ConfigError.invalid(name, value, "It must not lead out of the bucket")


class S3SinkConfig(RotationOptions):
    """Configuration of the sink."""

    with config_group("Connector", importance=Importance.HIGH, width=Width.LONG):
        format_class: str = config_key(
            "format.class",
            validator=_format_class,
            display_name="Format class",
            doc="Format of files: JsonFormat, ParquetFormat, AvroFormat or ByteArrayFormat below "
            "io.confluent.connect.s3.format.",
        )
        flush_size: int = config_key(
            "flush.size",
            validator=at_least(1),
            display_name="Flush Size",
            doc="Records of a Kafka partition after which its files end.",
        )
        retry_backoff_ms: int = config_key(
            "retry.backoff.ms",
            type=Type.LONG,
            default=5000,
            importance=Importance.LOW,
            validator=at_least(0),
            display_name="Retry Backoff (ms)",
            doc="Delay before files are stored again after the store could not be reached.",
        )
        offset_digits: int = config_key(
            "filename.offset.zero.pad.width",
            default=10,
            importance=Importance.LOW,
            validator=at_least(0),
            display_name="Filename Offset Zero Pad Width",
            doc="Digits to which offsets in names of files are filled with zeros.",
        )
        avro_codec: str = config_key(
            "avro.codec",
            default="null",
            importance=Importance.LOW,
            validator=one_of(*_AVRO_CODECS),
            display_name="Avro Compression Codec",
            doc="Compression of Avro files.",
        )
        parquet_codec: str = config_key(
            "parquet.codec",
            default="snappy",
            importance=Importance.LOW,
            validator=one_of(*_PARQUET_CODECS),
            display_name="Parquet Compression Codec",
            doc="Compression of Parquet files.",
        )
    with config_group("S3", importance=Importance.LOW, width=Width.LONG):
        bucket: str = config_key(
            "s3.bucket.name",
            importance=Importance.HIGH,
            validator=_bucket,
            display_name="S3 Bucket",
            doc="The bucket; it must exist. With a folder in store.url, a folder in it.",
        )
        region: str = config_key(
            "s3.region",
            default="us-west-2",
            importance=Importance.MEDIUM,
            validator=non_empty_string,
            display_name="AWS region",
            doc="Region of the bucket.",
        )
        access_key_id: str = config_key(
            "aws.access.key.id",
            default="",
            importance=Importance.HIGH,
            display_name="AWS Access Key ID",
            doc="Access key. Left out, the credentials are those of the worker's AWS environment.",
        )
        secret_access_key: Password | None = config_key(
            "aws.secret.access.key",
            default=None,
            importance=Importance.HIGH,
            display_name="AWS Secret Access Key",
            doc="Secret key of aws.access.key.id.",
        )
        acl: str | None = config_key(
            "s3.acl.canned", default=None, validator=_acl, display_name="S3 Canned ACL", doc="Canned ACL of files."
        )
        compression: str = config_key(
            "s3.compression.type",
            default="none",
            validator=one_of("none", "gzip"),
            display_name="Compression type",
            doc="Compression of files of JsonFormat and ByteArrayFormat: none or gzip.",
        )
        decimal_format: str = config_key(
            "json.decimal.format",
            default="BASE64",
            importance=Importance.MEDIUM,
            validator=one_of_ignoring_case("BASE64", "NUMERIC"),
            display_name="Decimal Format",
            doc="Decimals of JsonFormat: BASE64 of their bytes, or NUMERIC.",
        )
        part_retries: int = config_key(
            "s3.part.retries",
            default=3,
            importance=Importance.MEDIUM,
            validator=between(0, 100),
            display_name="S3 Part Upload Retries",
            doc="Attempts after a failed request, before files are stored again after retry.backoff.ms.",
        )
        bytes_extension: str = config_key(
            "format.bytearray.extension",
            default=".bin",
            display_name="Output file extension for ByteArrayFormat",
            doc="Extension of files of ByteArrayFormat.",
        )
        bytes_separator: str | None = config_key(
            "format.bytearray.separator",
            default=None,
            display_name="Line separator ByteArrayFormat",
            doc="What stands behind each record in files of ByteArrayFormat, a line feed by default. It may have \\n, "
            "\\r, \\t, \\0 and \\\\.",
        )
        proxy_url: str = config_key(
            "s3.proxy.url", default="", display_name="S3 Proxy Settings", doc="Proxy, as http://host:port."
        )
        proxy_user: str | None = config_key(
            "s3.proxy.user", default=None, display_name="S3 Proxy User", doc="User at the proxy."
        )
        proxy_password: Password | None = config_key(
            "s3.proxy.password", default=None, display_name="S3 Proxy Password", doc="Password at the proxy."
        )
        null_values: str = config_key(
            "behavior.on.null.values",
            default="fail",
            validator=one_of_ignoring_case("IGNORE", "FAIL"),
            display_name="Behavior for null-valued records",
            doc="Records without a value fail the task, or are left out: fail or ignore. 'write' is not supported.",
        )
        reports_null_values: bool = config_key(
            "report.null.values.to.dlq",
            default=True,
            display_name="Report null value to dlq",
            doc="Whether such records that are left out are reported to the dead letter queue, where there is one.",
        )
        ends_with_partition: bool = config_key(
            "rotate.file.on.partition.change",
            default=True,
            display_name="Rotate files on partition change",
            doc="Whether files end with an interval of time, where rotate.interval.ms is set.",
        )
        path_style: bool = config_key(
            "s3.path.style.access.enabled",
            default=True,
            display_name="Enable Path Style Access to S3",
            doc="Whether the bucket is in the path of a URL, not in the name of the host, at a server in store.url.",
        )
        most_files: int = config_key(
            "partitioner.max.open.files",
            default=-1,
            validator=at_least(-1),
            display_name="Partitioner Max Open Files",
            doc="Open files of a Kafka partition after which all of them end. -1 is any number.",
        )
    with config_group("Storage", importance=Importance.HIGH, width=Width.LONG):
        topics_dir: str = config_key(
            "topics.dir",
            default="topics",
            width=Width.NONE,
            validator=_relative,
            display_name="Topics directory",
            doc="Folder above the folders of topics.",
        )
        store_url: str | None = config_key(
            "store.url",
            default=None,
            width=Width.NONE,
            display_name="Store URL",
            doc="Server with the API of S3, as http://host:port, or a folder, as file:///data. AWS by default.",
        )
        directory_delimiter: str = config_key(
            "directory.delim",
            default="/",
            importance=Importance.MEDIUM,
            validator=non_empty_string,
            display_name="Directory Delimiter",
            doc="What stands between directories.",
        )
        file_delimiter: str = config_key(
            "file.delim",
            default="+",
            importance=Importance.MEDIUM,
            display_name="File Delimiter",
            doc="What stands between topic, partition and offset in names of files.",
        )

    @classmethod
    def table(cls) -> ConfigTable:
        """Return the options; those that are refused, or without effect, come last."""
        return ConfigTable((*super().table(), *NOT_SUPPORTED, *WITHOUT_EFFECT))

    @classmethod
    def parse(cls, props: Properties, find_class: FindClass | None = None) -> Self:
        """Return the configuration; options without effect are logged.

        Raises:
            ConfigError: the first option that is missing, wrong or not supported.
        """
        parsed = super().parse(props, find_class)
        for warning in warnings(WITHOUT_EFFECT, parsed.originals):
            log.warning("%s", warning)
        return parsed

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.compression != "none" and self._format not in (JSON, BYTES):
            reason = f"Compression Type {self.compression} not valid for data format class: ( {self.format_class} )."
            raise ConfigError.invalid("s3.compression.type", self.compression, reason)
        if bool(self.access_key_id) is not (self.secret_access_key is not None):
            given, other = "aws.access.key.id", "aws.secret.access.key"
            name = other if self.access_key_id else given
            raise ConfigError.invalid(name, None, f"{given} and {other} are given together, or neither")
        self._endpoint()
        self._proxy()
        self.file_settings()
        return self

    @property
    def _format(self) -> str:
        return _format_name(self.format_class)

    def file_settings(self) -> FileSettings:
        """Return the settings of files. Raises ConfigError: one of them is wrong."""
        most = None if self.most_files < 1 else self.most_files
        is_ignored = self.null_values.lower() == "ignore"
        return FileSettings(
            rules=self.rules(self.flush_size, at_any_time=False, with_directory=self.ends_with_partition, files=most),
            partitioner=self.partitioner(self.directory_delimiter),
            names=FileNames(self.topics_dir, self.directory_delimiter, self.file_delimiter, self.offset_digits),
            format=self._file_format(),
            schedule=self.schedule,
            spool=self.spool_folder,
            fails_at_null=not is_ignored,
            reports_null=is_ignored and self.reports_null_values,
        )

    def store(self) -> Store:
        """Return the store."""
        endpoint = self._endpoint()
        if endpoint is None and self.store_url:
            folder = local_path(self.store_url)
            assert folder is not None
            return LocalStore(folder / self.bucket)
        secret = self.secret_access_key
        client = fs.S3FileSystem(
            access_key=self.access_key_id or None,
            secret_key=None if secret is None else secret.value,
            region=self.region,
            scheme=None if endpoint is None else endpoint.scheme,
            endpoint_override=None if endpoint is None else endpoint.netloc,
            force_virtual_addressing=endpoint is not None and not self.path_style,
            proxy_options=self._proxy(),
            default_metadata=None if self.acl is None else {"ACL": self.acl},
            retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=self.part_retries + 1),
            allow_delayed_open=True,
            background_writes=False,
        )
        shown = f"s3://{self.bucket}" if endpoint is None else f"{endpoint.scheme}://{endpoint.netloc}/{self.bucket}"
        return ArrowStore(client, self.bucket, shown)

    def _file_format(self) -> FileFormat:
        compressed, ending = {"compression": self.compression}, ".gz" if self.compression == "gzip" else ""
        match self._format:
            case name if name == JSON:
                numeric = self.decimal_format.upper() == "NUMERIC"
                lines = {**compressed, "lineSep": "\n"}
                return FileFormat(
                    "text", lambda one: lines_of_json(one, numeric_decimals=numeric), lines, f".json{ending}"
                )
            case name if name == BYTES:
                lines = {**compressed, "lineSep": self._separator()}
                return FileFormat("text", bytes_as_lines, lines, f"{self.bytes_extension}{ending}")
            case name if name == PARQUET:
                return FileFormat("parquet", columns_of_fields, {"compression": _PARQUET_CODECS[self.parquet_codec]})
            case _:
                return FileFormat("avro", columns_of_fields, {"compression": _AVRO_CODECS[self.avro_codec]}, ".avro")

    def _separator(self) -> str:
        if not self.bytes_separator:
            return "\n"
        return re.sub(r"\\.", lambda found: _ESCAPES.get(found[0], found[0]), self.bytes_separator)

    def _endpoint(self) -> SplitResult | None:
        """Return the URL of a server; ``None`` for AWS and for folders."""
        if not self.store_url or local_path(self.store_url) is not None:
            return None
        return _url_of_server("store.url", self.store_url, "or a folder as file:///data")

    def _proxy(self) -> str | None:
        if not self.proxy_url:
            return None
        parts = _url_of_server("s3.proxy.url", self.proxy_url, "with its port")
        if self.proxy_user is None:
            return self.proxy_url
        password = "" if self.proxy_password is None else self.proxy_password.value
        return f"{parts.scheme}://{quote(self.proxy_user, '')}:{quote(password, '')}@{parts.netloc.rpartition('@')[2]}"


def _url_of_server(name: str, url: str, otherwise: str) -> SplitResult:
    parts = urlsplit(url)
    try:
        is_right = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # of the port
        is_right = False
    if not is_right or parts.path.strip("/") or parts.query:
        raise ConfigError.invalid(name, url, f"It must be a URL as http://host:port or https://host, {otherwise}")
    return parts

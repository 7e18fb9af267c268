"""The worker's configuration: what must be there, what is passed on, what is wrong."""

from __future__ import annotations

import pytest

from connect_dagster.errors import ConfigError
from connect_dagster.worker.config.worker import StandaloneConfig

JSON = "org.apache.kafka.connect.json.JsonConverter"
PROPS = {
    "bootstrap.servers": "localhost:9092",
    "key.converter": JSON,
    "value.converter": JSON,
    "offset.storage.file.filename": "/tmp/connect.offsets",
}


def test_javas_defaults() -> None:
    config = StandaloneConfig.parse(PROPS)
    assert (config.bootstrap_servers, config.offset_storage_file_filename) == (
        "localhost:9092",
        "/tmp/connect.offsets",
    )
    timings = (
        config.task_shutdown_graceful_timeout_ms,
        config.offset_flush_interval_ms,
        config.offset_flush_timeout_ms,
    )
    assert timings == (5000, 60000, 5000)
    assert (config.listeners, config.plugin_path) == (("http://:8083",), None)
    assert (config.topic_tracking_enable, config.topic_tracking_allow_reset) == (True, True)


@pytest.mark.parametrize("name", PROPS)
def test_s1_13_a_missing_key_is_named(name: str) -> None:
    with pytest.raises(ConfigError) as raised:
        StandaloneConfig.parse({key: value for key, value in PROPS.items() if key != name})
    assert str(raised.value) == f'Missing required configuration "{name}" which has no default value.'


@pytest.mark.parametrize(
    ("name", "given", "text"),
    [
        (
            "offset.flush.interval.ms",
            "10s",
            "Invalid value 10s for configuration offset.flush.interval.ms: Not a number of type LONG",
        ),
        (
            "topic.tracking.enable",
            "yes",
            "Invalid value yes for configuration topic.tracking.enable: Expected value to be either true or false",
        ),
        ("listeners", "http://:1,", "Empty URL found when parsing listeners list."),
        (
            "listeners",
            "",
            "Invalid value for listeners, at least one URL is expected, "
            "ex: http://localhost:8080,https://localhost:8443.",
        ),
        (
            "bootstrap.servers",
            "",
            "Configuration 'bootstrap.servers' must not be empty. Valid values include: any non-empty value",
        ),
        ("plugin.path", "/a,,/b", "Configuration 'plugin.path' values must not be empty."),
    ],
)
def test_wrong_values_are_named(name: str, given: str, text: str) -> None:
    with pytest.raises(ConfigError) as raised:
        StandaloneConfig.parse({**PROPS, name: given})
    assert str(raised.value) == text


def test_an_unknown_converter_is_named() -> None:
    with pytest.raises(ConfigError) as raised:
        StandaloneConfig.parse({**PROPS, "key.converter": "x.Y"}, lambda name: name if name == JSON else None)
    text = "Invalid value x.Y for configuration key.converter: Class x.Y could not be found."
    assert str(raised.value) == text


def test_s1_06_and_08_listeners_are_kept_as_written() -> None:
    config = StandaloneConfig.parse({**PROPS, "listeners": "HTTP://:18083, http://0.0.0.0:18084"})
    assert config.listeners == ("HTTP://:18083", "http://0.0.0.0:18084")


def test_s1_14_client_settings_do_not_leak() -> None:
    config = StandaloneConfig.parse(
        {
            **PROPS,
            "producer.compression.type": "gzip",
            "consumer.max.poll.records": "1",
            "admin.request.timeout.ms": "5000",
        }
    )
    assert config.client_overrides("producer.") == {"compression.type": "gzip"}
    assert config.client_overrides("consumer.") == {"max.poll.records": "1"}
    assert config.client_overrides("admin.") == {"request.timeout.ms": "5000"}


def test_what_nothing_reads_is_named_in_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    passed_on = {
        "spark.master": "local[2]",
        "key.converter.schemas.enable": "true",
        "sasl.mechanism": "PLAIN",
    }
    config = StandaloneConfig.parse({**PROPS, **passed_on, "offset.flush.intervall.ms": "1", "rest.port": "1"})
    assert config.with_prefix("spark.") == {"master": "local[2]"}
    assert [record.getMessage() for record in caplog.records] == [
        "These configurations '[offset.flush.intervall.ms, rest.port]' were supplied but are not used yet."
    ]

"""What a worker logs when it does not start."""

from pathlib import Path

import pytest

from connect_dagster.cli.worker.process import WORKER_OPTIONS, log_start_failure
from connect_dagster.errors import ConfigError, ConnectError

ROOT = Path(__file__).parents[4]


def test_a_wrong_option_is_followed_by_its_page(caplog: pytest.LogCaptureFixture) -> None:
    log_start_failure(ConfigError.invalid("offset.flush.interval.ms", "soon", "Not a number"))
    first, second = caplog.messages
    assert first.startswith("Stopping due to error: org.apache.kafka.common.config.ConfigException: Invalid value soon")
    assert second == f"The options are explained in {WORKER_OPTIONS}"
    assert (ROOT / WORKER_OPTIONS).exists()


def test_other_errors_have_no_page(caplog: pytest.LogCaptureFixture) -> None:
    log_start_failure(ConnectError("the brokers do not respond"))
    assert len(caplog.messages) == 1

"""Test that kafka-python logs nothing while a request asks for silence."""

import logging
from contextlib import ExitStack

from connect_dagster.kafka.python_admin import _Silence


def test_the_log_is_silent_as_long_as_one_request_runs() -> None:
    logger = logging.getLogger("of_a_library")
    logger.setLevel(logging.INFO)
    silence, first, second = _Silence(logger.name), ExitStack(), ExitStack()
    first.enter_context(silence.kept())
    second.enter_context(silence.kept())
    first.close()
    assert not logger.getChild("net").isEnabledFor(logging.ERROR)
    second.close()
    assert logger.level == logging.INFO

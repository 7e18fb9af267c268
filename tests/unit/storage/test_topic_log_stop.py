"""How long a log waits for its threads. No brokers."""

import logging
import threading
from typing import cast

import pytest

from connect_dagster.kafka.topic_admin import TopicAdmin
from connect_dagster.storage import topic_log
from connect_dagster.storage.topic_log import TopicLog


class _Consumer:
    closed = 0

    def close(self) -> None:
        self.closed += 1


def test_a_thread_that_hangs_is_left(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """Hangs at 1f0d1e0: the worker did not end. A client in use is not closed, as librdkafka would abort."""
    monkeypatch.setattr(topic_log, "_STOP_SECONDS", 0.05)
    log, consumer, end = TopicLog("t", {}, cast("TopicAdmin", None), lambda *_: None), _Consumer(), threading.Event()
    log._consumer = consumer  # type: ignore[assignment]
    hanging = threading.Thread(target=end.wait, daemon=True)
    hanging.start()
    log._threads = [hanging]
    with caplog.at_level(logging.INFO):
        log.stop()
    assert caplog.messages == ["The log of topic t did not end within 0 s, its threads are left"]
    assert consumer.closed == 0
    end.set()
    hanging.join(10)
    log.stop()
    log.stop()
    assert consumer.closed == 1

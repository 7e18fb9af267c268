"""Background work of the connectors of a flow."""

import pytest

from connect_dagster.connectors.mirror.scheduler import Scheduler
from connect_dagster.errors import ConfigError


def test_work_does_not_run_without_a_pause() -> None:
    scheduler = Scheduler("s", 1.0)
    try:
        with pytest.raises(ConfigError, match="interval for refreshing topics is 0 seconds"):
            scheduler.repeat(lambda: None, 0, "refreshing topics")
        scheduler.repeat(lambda: None, None, "refreshing topics")
    finally:
        scheduler.close()

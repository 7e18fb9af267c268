"""How many tasks a connector may have (Java: ``Worker.checkTasksMax``, ``TooManyTasksException``)."""

from __future__ import annotations

import logging

from connect_dagster.errors import ConnectError
from connect_dagster.worker.config.connector import ConnectorConfig

log = logging.getLogger(__name__)


class TooManyTasksError(ConnectError):
    """A connector made more task configurations than it may."""

    java_name = "org.apache.kafka.connect.runtime.TooManyTasksException"


def check_tasks_max(name: str, tasks: int, config: ConnectorConfig) -> None:
    """Check how many tasks a connector wants.

    Args:
        name: the connector.
        tasks: how many configurations it made.
        config: its configuration.

    Raises:
        TooManyTasksError: they are more than ``tasks.max``, and ``tasks.max.enforce`` is not false.
    """
    allowed = config.tasks_max
    if tasks <= allowed:
        return
    what = (
        f"The connector {name} has generated {tasks} tasks, which is greater than {allowed}, the maximum number of "
        "tasks it is configured to create."
    )
    if config.tasks_max_enforce:
        raise TooManyTasksError(
            f"{what} This behaviour should be considered a bug and is disallowed. If necessary, it can be permitted by "
            "reconfiguring the connector with 'tasks.max.enforce' set to false; however, this option will be removed "
            "in a future release of Kafka Connect."
        )
    log.warning(
        "%s This behavior should be considered a bug and will be disallowed in future releases of Kafka Connect. "
        "Please report this to the maintainers of the connector and request that they adjust their connector's "
        "taskConfigs() method to respect the maxTasks parameter.",
        what,
    )

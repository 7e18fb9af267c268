"""How many tasks a connector may have (Java: ``Worker.checkTasksMax``, ``TooManyTasksException``)."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from connect_dagster.errors import ConnectError
from connect_dagster.plugin.config import Type, parse_value

log = logging.getLogger(__name__)

ENFORCE = "tasks.max.enforce"


class TooManyTasksError(ConnectError):
    """A connector made more task configurations than it may."""

    java_name = "org.apache.kafka.connect.runtime.TooManyTasksException"


def check_tasks_max(name: str, tasks: int, config: Mapping[str, str]) -> None:
    """Check how many tasks a connector wants.

    Args:
        name: the connector.
        tasks: how many configurations it made.
        config: its own configuration.

    Raises:
        TooManyTasksError: they are more than ``tasks.max``, and ``tasks.max.enforce`` is not false.
    """
    allowed = int(config.get("tasks.max", "1"))
    if tasks <= allowed:
        return
    what = (
        f"The connector {name} has generated {tasks} tasks, which is greater than {allowed}, the maximum number of "
        "tasks it is configured to create."
    )
    if parse_value(ENFORCE, config.get(ENFORCE, "true"), Type.BOOLEAN):
        raise TooManyTasksError(
            f"{what} This behaviour should be considered a bug and is disallowed. If necessary, it can be permitted by "
            f"reconfiguring the connector with '{ENFORCE}' set to false; however, this option will be removed in a "
            "future release of Kafka Connect."
        )
    log.warning(
        "%s This behavior should be considered a bug and will be disallowed in future releases of Kafka Connect. "
        "Please report this to the maintainers of the connector and request that they adjust their connector's "
        "taskConfigs() method to respect the maxTasks parameter.",
        what,
    )

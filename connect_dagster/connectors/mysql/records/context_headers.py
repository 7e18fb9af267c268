"""Headers of data records that name the connector they are from (``extended.headers.enabled``)."""

from __future__ import annotations

from uuid import UUID

_PREFIX = "__debezium.context."


def context_headers(prefix: str, task: int, connector: str, run: UUID) -> dict[str, str]:
    """Return the headers, all of them strings, in Debezium's order.

    Args:
        prefix: ``topic.prefix``.
        task: number of the task.
        connector: ``mysql`` or ``mariadb``.
        run: made at the task's start.
    """
    return {
        f"{_PREFIX}connectorLogicalName": prefix,
        f"{_PREFIX}taskId": str(task),
        f"{_PREFIX}connectorName": connector,
        f"{_PREFIX}runId": str(run),
    }

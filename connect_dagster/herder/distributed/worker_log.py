"""Log lines of a worker's part in its group carry whose they are (Java: ``LogContext``)."""

from __future__ import annotations

import logging
from collections.abc import MutableMapping
from typing import Any


class WorkerLog(logging.LoggerAdapter[logging.Logger]):
    """Puts ``[Worker clientId=…, groupId=…]`` before each message.

    Args:
        name: of the module that logs.
        client_id: the worker's.
        group: the worker's group.
    """

    def __init__(self, name: str, client_id: str, group: str) -> None:
        super().__init__(logging.getLogger(name), {})
        # A message is a format: what a user chose must not be one.
        self._prefix = f"[Worker clientId={client_id}, groupId={group}] ".replace("%", "%%")

    def process(self, msg: Any, kwargs: MutableMapping[str, Any]) -> tuple[Any, MutableMapping[str, Any]]:
        """Add the prefix."""
        return f"{self._prefix}{msg}", kwargs

"""A prefix for log lines, with the worker and the group that they are about (Java: ``LogContext``)."""

from __future__ import annotations

import logging
from collections.abc import MutableMapping
from typing import Any


class LogContext(logging.LoggerAdapter[logging.Logger]):
    """Put ``[Worker clientId=…, groupId=…]`` before each message.

    Args:
        name: of the module that logs.
        client_id: the worker's.
        group: the worker's group.
    """

    def __init__(self, name: str, client_id: str, group: str) -> None:
        super().__init__(logging.getLogger(name), {})
        # A message is a format string, and the user has chosen these names.
        self._prefix = f"[Worker clientId={client_id}, groupId={group}] ".replace("%", "%%")

    def process(self, msg: Any, kwargs: MutableMapping[str, Any]) -> tuple[Any, MutableMapping[str, Any]]:
        """Add the prefix."""
        return f"{self._prefix}{msg}", kwargs

"""Where notifications go: a topic, the log, or nowhere (Debezium: ``NotificationService``)."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from connect_dagster.connectors.mysql.notifications.notification import (
    Aggregate,
    Notification,
    Progress,
    in_java_order,
)
from connect_dagster.connectors.mysql.records.service_records import NOTIFICATION_KEY_SCHEMA, NOTIFICATION_VALUE_SCHEMA
from connect_dagster.connectors.mysql.records.service_tables import service_table
from connect_dagster.plugin.frames import SourceTable

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Notifications:
    """Makes notifications.

    Attributes:
        connector: ``topic.prefix``.
        topic: of their records; ``None`` for no records.
        logs: whether they go to the log.
        micros: gives the present time in microseconds since 1970.
    """

    connector: str
    topic: str | None
    logs: bool
    micros: Callable[[], int]

    def made(
        self, aggregate: Aggregate, kind: Progress, data: Mapping[str, str], correlation: str | None = None
    ) -> list[SourceTable]:
        """Make a notification; return its record as a batch without an offset, or none.

        Args:
            aggregate: that it is about.
            kind: of the notification.
            data: further facts.
            correlation: its number; ``None`` for one by chance.
        """
        if self.topic is None and not self.logs:
            return []
        number = correlation or str(uuid.uuid4())
        facts = in_java_order(data, self.connector)
        notification = Notification(number, aggregate, kind, facts, self.micros() // 1000)
        if self.logs:
            log.info("[Notification Service]  %s", notification)
        if self.topic is None:
            return []
        rows = service_table([notification.record()], NOTIFICATION_KEY_SCHEMA, NOTIFICATION_VALUE_SCHEMA)
        return [
            SourceTable(
                rows,
                {},
                None,
                topic=self.topic,
                value_schema=NOTIFICATION_VALUE_SCHEMA,
                key_schema=NOTIFICATION_KEY_SCHEMA,
            )
        ]

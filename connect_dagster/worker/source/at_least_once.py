"""Sends batches without transactions: a restart may write records again (Java: ``WorkerSourceTask``)."""

from __future__ import annotations

from functools import partial
from typing import Any

import pyarrow as pa

from connect_dagster.kafka.client_statistics import StatisticsCollector
from connect_dagster.kafka.settings.java_settings import Settings
from connect_dagster.plugin.frame_columns import RECEIPT
from connect_dagster.worker.source.delivery import Batch, DeliveryThread
from connect_dagster.worker.source.receipts import Places, receipts
from connect_dagster.worker.source.sender import RecordSender

_RETRY_SECONDS = 0.1


class AtLeastOnceSender:
    """Sends each batch, and calls it done once the brokers have all of its records (``BatchSender``).

    Args:
        settings: producer settings in Java's names.
        thread: the delivery thread.
        wants_receipts: whether records ask for receipts.
        statistics: of its producers; ``None`` where nobody asks for them.
    """

    def __init__(
        self,
        settings: Settings,
        thread: DeliveryThread,
        *,
        wants_receipts: bool = False,
        statistics: StatisticsCollector | None = None,
    ) -> None:
        self._thread = thread
        self._sender = RecordSender(
            settings,
            lambda: thread.over() or not thread.may_send(),
            thread.wait,
            partial(thread.note_error, settings.get("client.id", "")),
            places=wants_receipts,
            statistics=statistics,
        )

    def send(self, batch: Batch[Any], encoded: Any) -> None:
        """Send a batch; return when it was given up, too."""
        table: pa.Table = encoded.table
        places = Places(table.num_rows) if RECEIPT in table.column_names else None
        for start, part in self._thread.limiter.parts(table):
            if not self._thread.paced():
                return
            self._thread.limiter.moved_table(part)
            if not self._send_part(batch, part, None if places is None else places.part(start, part.num_rows)):
                return
        if places is not None:
            batch.received(receipts(table, batch.topic, places))
        if batch.reported():
            self._thread.done(batch, encoded)

    def _send_part(self, batch: Batch[Any], part: pa.Table, places: Places | None) -> bool:
        """Send records until Kafka has them; return ``False`` when they were given up."""
        while not self._sent(batch, part, places):
            if self._thread.over():
                return False
            self._sender.purge(in_flight=False)
            self._thread.wait(_RETRY_SECONDS)
        return True

    def serve(self) -> None:
        """Call callbacks that are due."""
        self._sender.serve()

    @property
    def held(self) -> int:
        """Return 0."""
        return 0

    @property
    def open(self) -> int:
        """Return 0."""
        return 0

    def finish(self) -> None:
        """Do nothing: each batch is at its end when it was sent."""

    def drop(self) -> None:
        """Do nothing: none is held."""

    def purge(self) -> None:
        """Drop records that are not acknowledged."""
        self._sender.purge()

    def close(self) -> None:
        """Close what :meth:`purge` cannot."""
        self._sender.close()

    def _sent(self, batch: Batch[Any], table: pa.Table, places: Places | None) -> bool:
        """Send a batch; return ``False`` when that was given up."""
        rows = table if places is None else table.drop_columns([RECEIPT])
        return self._thread.may_send() and self._sender.send(rows, batch.topic, batch.tolerate, places)

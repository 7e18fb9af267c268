"""How a source task opens its producer and its offsets, on its thread."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from dataclasses import dataclass
from functools import partial

from connect_dagster.errors import ConnectError
from connect_dagster.kafka.client_statistics import StatisticsCollector
from connect_dagster.kafka.settings.java_settings import Settings
from connect_dagster.kafka.transactional_producer import TransactionalProducer
from connect_dagster.storage.kafka_offset_store import TransactionalOffsets
from connect_dagster.storage.offset_store import SourceOffsets
from connect_dagster.worker.source.at_least_once import AtLeastOnceSender
from connect_dagster.worker.source.delivery import BatchSender, Delivery, DeliveryThread
from connect_dagster.worker.source.exactly_once import ExactlyOnceSender

_POLL_SECONDS = 0.1
OpenDelivery = Callable[[Callable[[DeliveryThread], BatchSender]], Delivery]
"""Opens a task's delivery from a function that opens the way to Kafka."""
Opened = tuple[Delivery, SourceOffsets]


@dataclass(frozen=True, slots=True)
class ExactlyOnceStart:
    """Steps before the start of a source task that writes in transactions (KIP-618).

    Attributes:
        fence: has producers of former tasks fenced out; raises ConnectError.
        verify: raises ConnectError when the task is to start no more.
        open_offsets: opens the offsets of a connector with a configuration.
    """

    fence: Callable[[], None]
    verify: Callable[[], None]
    open_offsets: Callable[[str, Mapping[str, str]], TransactionalOffsets]


@dataclass(frozen=True, slots=True)
class AtLeastOnceClients:
    """Opens a producer without transactions.

    Attributes:
        settings: of the producer, in Java's names.
        open_delivery: opens the delivery.
        open_offsets: opens the connector's committed offsets.
        wants_receipts: whether records ask for receipts.
        statistics: of the producers.
    """

    settings: Settings
    open_delivery: OpenDelivery
    open_offsets: Callable[[], SourceOffsets]
    wants_receipts: bool
    statistics: StatisticsCollector | None = None

    def open(self, stopping: Callable[[], bool]) -> Opened:
        """Open the delivery, then the offsets. Raises ConnectError."""
        delivery = self.open_delivery(
            partial(AtLeastOnceSender, self.settings, wants_receipts=self.wants_receipts, statistics=self.statistics)
        )
        try:
            return delivery, self.open_offsets()
        except BaseException:
            delivery.close()
            raise


@dataclass(frozen=True, slots=True)
class ExactlyOnceClients:
    """Opens a producer with transactions, which no earlier task has any more (Java: ``initializeAndStart``).

    Attributes:
        settings: of the producer, in Java's names.
        open_delivery: opens the delivery.
        start: steps before the start.
        open_offsets: opens the connector's offsets.
        interval: seconds after which a transaction ends; ``None`` where its connector alone ends it.
        wants_receipts: whether records ask for receipts.
        committed: called with the number of records of each transaction, and the milliseconds of its commit.
        statistics: of the producer.
    """

    settings: Settings
    open_delivery: OpenDelivery
    start: ExactlyOnceStart
    open_offsets: Callable[[], TransactionalOffsets]
    interval: float | None
    wants_receipts: bool
    committed: Callable[[int, float], None]
    statistics: StatisticsCollector | None = None

    def open(self, stopping: Callable[[], bool]) -> Opened:
        """Fence former tasks out, then open the offsets, which have their last commits, and the delivery.

        Args:
            stopping: returns whether the task was asked to stop.

        Raises:
            ConnectError: a step failed, or the task was asked to stop.
        """
        # A producer that is opened after a stop could fence out that of a later start.
        _until_stopped(self.start.fence, stopping)
        producer = TransactionalProducer(
            self.settings, stopping, wants_places=self.wants_receipts, statistics=self.statistics
        )
        try:
            producer.init()
            _until_stopped(self.start.verify, stopping)
            offsets = self.open_offsets()
            try:
                return self.open_delivery(partial(self._sender, producer, offsets)), offsets.reader
            except BaseException:
                offsets.close()
                raise
        except BaseException:
            producer.close()
            raise

    def _sender(
        self, producer: TransactionalProducer, offsets: TransactionalOffsets, thread: DeliveryThread
    ) -> ExactlyOnceSender:
        client_id = self.settings.get("client.id", "")
        return ExactlyOnceSender(producer, offsets, self.interval, thread, client_id, self.committed)


def _until_stopped(step: Callable[[], None], stopping: Callable[[], bool]) -> None:
    """Run a step that waits for other workers; raise ConnectError as soon as the task is asked to stop."""
    done: Future[None] = Future()

    def run() -> None:
        try:
            step()
            done.set_result(None)
        except BaseException as error:
            done.set_exception(error)

    threading.Thread(target=run, name="exactly-once-start", daemon=True).start()
    while not stopping():
        if wait([done], _POLL_SECONDS).done:
            done.result()
            return
    raise ConnectError("The task was asked to stop before it had started")

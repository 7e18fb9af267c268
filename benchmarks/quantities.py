"""The measured quantities with their units and targets."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from benchmarks.contestants import CONTESTANTS, IN_GROUPS, JAVA, TUNED, Contestant
from benchmarks.measure import percentile
from benchmarks.mirror.records import Shape
from benchmarks.workload import Format


@dataclass(frozen=True, slots=True)
class Target:
    """A limit for our figure.

    Attributes:
        limit: a ratio to another contestant's figure, or a figure.
        against: whose figure; none when the limit is a figure itself.
        at_least: whether more is better; otherwise less is.
        tasks: numbers of tasks it is meant for; all when empty.
    """

    limit: float
    against: Contestant | None = None
    at_least: bool = False
    tasks: tuple[int, ...] = ()

    def met(self, figure: float) -> bool:
        """Return whether a ratio or figure is within the limit."""
        return figure >= self.limit if self.at_least else figure <= self.limit


class Quantity(Enum):
    """One kind of row: title, unit, decimals, targets, contestants. In the table's order."""

    SOURCE_WARM = ("source, warm", "k rec/s", 0, (Target(1.05, TUNED, at_least=True, tasks=(1, 2, 4)),))
    SOURCE_COLD = ("source, cold", "k rec/s", 0, (Target(0.8, TUNED, at_least=True),))
    SOURCE_CPU = ("source, warm, processor", "s/M rec", 2, (Target(1.1, TUNED),))
    SOURCE_MEMORY = ("source, peak RSS", "MB", 0, (Target(1.5, TUNED),))
    SINK_WARM = ("sink, warm", "k rec/s", 0, (Target(1.0, TUNED, at_least=True),))
    SINK_COLD = ("sink, cold", "k rec/s", 0, (Target(0.8, TUNED, at_least=True),))
    SINK_CPU = ("sink, warm, processor", "s/M rec", 2, (Target(1.25, TUNED),))
    SINK_MEMORY = ("sink, peak RSS", "MB", 0, (Target(1.5, TUNED),))
    CHAIN_WARM = ("source with five transforms, warm", "k rec/s", 0, (Target(2.0, TUNED, at_least=True),))
    CHAIN_COLD = ("source with five transforms, cold", "k rec/s", 0, ())
    CHAIN_CPU = ("source with five transforms, processor", "s/M rec", 2, (Target(0.6, TUNED),))
    CHAIN_MEMORY = ("source with five transforms, peak RSS", "MB", 0, ())
    LINE_P50 = ("line to topic, alone, p50", "ms", 1, (Target(25),))
    LINE_P99 = ("line to topic, alone, p99", "ms", 1, ())
    LINE_QUIET_P50 = ("line to topic, after 5 s of quiet, p50", "ms", 1, (Target(30),))
    LINE_BUSY_P50 = ("line to topic, beside bulk tasks, p50", "ms", 1, (Target(80),))
    LINE_BUSY_P99 = ("line to topic, beside bulk tasks, p99", "ms", 1, ())
    LINE_BUSY_RATE = ("what those bulk tasks moved meanwhile", "k rec/s", 0, ())
    RECORD_P50 = ("record to file, alone, p50", "ms", 1, (Target(25),))
    RECORD_P99 = ("record to file, alone, p99", "ms", 1, (Target(100),))
    RECORD_QUIET_P50 = ("record to file, after 11 s of quiet, p50", "ms", 1, (Target(40),))
    START = ("process start to first record", "s", 2, (Target(1.0, JAVA),))
    CREATE = ("create to first record, warm", "s", 3, ())
    SINK_FIRST = ("sink, RUNNING to first record, first of a worker", "s", 2, (Target(2.0),))
    SINK_FIRST_WARM = ("sink, RUNNING to first record, others", "s", 2, (Target(0.4),))
    GROUP_RUNNING = ("group of 3, first request to all RUNNING", "s", 2, (Target(1.0, JAVA),), IN_GROUPS)
    GROUP_LINES = ("group of 3, first request to all lines in files", "s", 2, (Target(1.5, JAVA),), IN_GROUPS)
    GROUP_STATUS_P50 = ("group of 3, GET /connectors?expand=status, p50", "ms", 1, (Target(1.0, JAVA),), IN_GROUPS)
    GROUP_STATUS_P99 = ("group of 3, GET /connectors?expand=status, p99", "ms", 1, (Target(1.0, JAVA),), IN_GROUPS)
    GROUP_FAIL_OVER = ("group of 3, kill -9 of one to all RUNNING", "s", 2, (Target(1.0, JAVA),), IN_GROUPS)
    GROUP_NEW_LINES = ("group of 3, kill -9 of one to new lines in all files", "s", 2, (Target(1.1, JAVA),), IN_GROUPS)
    IDLE_CPU = ("idle worker, processor", "cores", 3, (Target(0.15, tasks=(100,)),), IN_GROUPS)
    IDLE_MEMORY = ("idle worker, RSS", "MB", 0, (Target(700, tasks=(100,)),), IN_GROUPS)
    MIRROR_WARM = ("mirror, warm", "k rec/s", 0, (Target(1.5, TUNED, at_least=True),))
    MIRROR_COLD = ("mirror, from process start, cold", "k rec/s", 0, ())
    MIRROR_CPU = ("mirror, warm, processor", "s/M rec", 2, (Target(0.7, TUNED),))
    MIRROR_SOURCE_CPU = ("mirror, warm, processor of the source's broker", "s/M rec", 2, ())
    MIRROR_TARGET_CPU = ("mirror, warm, processor of the target's broker", "s/M rec", 2, ())
    MIRROR_MEMORY = ("mirror, peak RSS", "MB", 0, (Target(1.5, TUNED),))
    MIRROR_P50 = ("mirror, 100 records a second, p50", "ms", 1, (Target(10),))
    MIRROR_P99 = ("mirror, 100 records a second, p99", "ms", 1, (Target(60),))
    MIRROR_BUSY_P50 = ("mirror, 5,000 records a second, p50", "ms", 1, ())
    MIRROR_BUSY_P99 = ("mirror, 5,000 records a second, p99", "ms", 1, ())
    MIRROR_START = ("mirror, process start to first record", "s", 2, ())
    PLAIN_SOURCE = ("source, warm, without transactions", "k rec/s", 0, ())
    ONCE_SOURCE = ("source, warm, in transactions", "k rec/s", 0, ())
    ONCE_SHARE = ("source, warm, in transactions, of that without", "%", 0, (Target(95, at_least=True),))
    PLAIN_CPU = ("source, warm, processor, without transactions", "s/M rec", 2, ())
    ONCE_CPU = ("source, warm, processor, in transactions", "s/M rec", 2, ())
    PLAIN_LINE_P50 = ("line to topic, without transactions, p50", "ms", 1, ())
    ONCE_LINE_P50 = ("line to topic, in a transaction, p50", "ms", 1, ())
    ONCE_LINE_MORE = ("line to topic, more in a transaction, p50", "ms", 1, (Target(6),))
    PLAIN_LINE_P99 = ("line to topic, without transactions, p99", "ms", 1, ())
    ONCE_LINE_P99 = ("line to topic, in a transaction, p99", "ms", 1, ())
    CDC_SNAPSHOT = ("capture, snapshot", "k rec/s", 0, (Target(6.0, TUNED, at_least=True),))
    CDC_SNAPSHOT_CPU = ("capture, snapshot, processor", "s/M rec", 2, (Target(0.25, TUNED),))
    CDC_SNAPSHOT_MEMORY = ("capture, snapshot, peak RSS", "MB", 0, (Target(1.0, TUNED),))
    CDC_BULK = ("capture, log, bulk inserts", "k rec/s", 0, (Target(3.0, TUNED, at_least=True),))
    CDC_BULK_CPU = ("capture, log, bulk inserts, processor", "s/M rec", 2, (Target(0.25, TUNED),))
    CDC_MIXED = ("capture, log, updates and deletes", "k rec/s", 0, ())
    CDC_MIXED_CPU = ("capture, log, updates and deletes, processor", "s/M rec", 2, (Target(0.25, TUNED),))
    CDC_SINGLE = ("capture, log, transactions of one row", "k rec/s", 0, (Target(2.0, TUNED, at_least=True),))
    CDC_SINGLE_CPU = ("capture, log, transactions of one row, processor", "s/M rec", 2, (Target(0.25, TUNED),))
    CDC_MANY = ("capture, log, 20 tables", "k rec/s", 0, ())
    CDC_MANY_CPU = ("capture, log, 20 tables, processor", "s/M rec", 2, (Target(0.25, TUNED),))
    CDC_P50 = ("capture, one row, p50", "ms", 1, (Target(150),))
    CDC_P99 = ("capture, one row, p99", "ms", 1, ())

    def __init__(
        self,
        title: str,
        unit: str,
        decimals: int,
        targets: tuple[Target, ...],
        contestants: tuple[Contestant, ...] = CONTESTANTS,
    ) -> None:
        self.title = title
        self.unit = unit
        self.decimals = decimals
        self.targets = targets
        self.contestants = contestants


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table.

    Attributes:
        quantity: what.
        form: format of the records, or the shape of those that are mirrored.
        tasks: connectors of the worker or group, with one task each; of a mirrored topic its tasks.
    """

    quantity: Quantity
    form: Format | Shape
    tasks: int


@dataclass(frozen=True, slots=True)
class Sample:
    """One measured figure of one contestant, in the quantity's unit."""

    row: Row
    contestant: Contestant
    figure: float


def percentiles(
    times: Sequence[float],
    contestant: Contestant,
    form: Format | Shape,
    tasks: int,
    half: Quantity,
    most: Quantity | None = None,
) -> Iterator[Sample]:
    """Yield the median of times in seconds, and the value that 99 of 100 do not exceed, in milliseconds."""
    yield Sample(Row(half, form, tasks), contestant, percentile(times, 0.5) * 1e3)
    if most is not None:
        yield Sample(Row(most, form, tasks), contestant, percentile(times, 0.99) * 1e3)

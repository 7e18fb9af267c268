"""Cells of a worker that is started twice: its sources commit in transactions, and not (KIP-618)."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from benchmarks.bench import Bench
from benchmarks.contestants import Contestant, Running
from benchmarks.group_workers import group_of
from benchmarks.latency import LineProbe
from benchmarks.measure import Window, percentile
from benchmarks.quantities import Quantity, Row, Sample
from benchmarks.throughput import TopicRules, check_values, source_round
from benchmarks.workload import Format, LogFile

_DISCARDED = 5
_PAUSE = (0.05, 1.0)
_SUPPORTS = ("disabled", "enabled")


def source_cell(bench: Bench, contestant: Contestant, form: Format, tasks: int) -> Iterator[Sample]:
    """Measure files to topics in warm workers."""
    plain, once = (_window(bench, contestant, form, tasks, support) for support in _SUPPORTS)
    thousands = bench.workload.lines / 1e3
    for quantity, figure in (
        (Quantity.PLAIN_SOURCE, thousands / plain.seconds),
        (Quantity.ONCE_SOURCE, thousands / once.seconds),
        (Quantity.ONCE_SHARE, 100 * plain.seconds / once.seconds),
        (Quantity.PLAIN_CPU, plain.cpu_seconds * 1e3 / thousands),
        (Quantity.ONCE_CPU, once.cpu_seconds * 1e3 / thousands),
    ):
        yield Sample(Row(quantity, form, tasks), contestant, figure)


def latency_cell(bench: Bench, contestant: Contestant, form: Format, tasks: int) -> Iterator[Sample]:
    """Measure single lines in warm workers, until a consumer of committed records sees them."""
    plain, once = (_times(bench, contestant, form, support) for support in _SUPPORTS)
    half, most = (percentile(once, share) * 1e3 for share in (0.5, 0.99))
    for quantity, figure in (
        (Quantity.PLAIN_LINE_P50, percentile(plain, 0.5) * 1e3),
        (Quantity.ONCE_LINE_P50, half),
        (Quantity.ONCE_LINE_MORE, half - percentile(plain, 0.5) * 1e3),
        (Quantity.PLAIN_LINE_P99, percentile(plain, 0.99) * 1e3),
        (Quantity.ONCE_LINE_P99, most),
    ):
        yield Sample(Row(quantity, form, tasks), contestant, figure)


@contextmanager
def _worker(bench: Bench, contestant: Contestant, form: Format, tasks: int, support: str) -> Iterator[Running]:
    """Start a worker, and warm it up."""
    with group_of(bench, contestant, form, 1, {"exactly.once.source.support": support}) as group:
        (worker,) = group.members
        done = 0
        while done < bench.effort.warm_up:
            source_round(bench, worker, form, tasks, _COMMITTED)
            done += bench.workload.lines
        worker.processes.settle()
        yield worker


def _window(bench: Bench, contestant: Contestant, form: Format, tasks: int, support: str) -> Window:
    with _worker(bench, contestant, form, tasks, support) as worker:
        return source_round(bench, worker, form, tasks, _COMMITTED)


def _times(bench: Bench, contestant: Contestant, form: Format, support: str) -> Sequence[float]:
    with _worker(bench, contestant, form, 1, support) as worker, bench.new_topics(1) as topics:
        line = LineProbe(bench, worker, topics[0])
        line.times(_DISCARDED, _PAUSE)
        found = line.times(bench.effort.samples, _PAUSE)
        line.close()
        return found


def _is_full(bench: Bench, topic: str, file: LogFile, form: Format) -> Callable[[], bool]:
    """Return a check for the last line, as the end of a log also counts the markers of transactions."""
    last = file.last_value(form)
    return lambda: bench.topics.end_offset(topic) >= file.lines and bench.topics.last_value(topic) == last


_COMMITTED = TopicRules(_is_full, check_values)

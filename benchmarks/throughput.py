"""Bulk cells: the whole log through a worker at once, from files to topics and from topics to files."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.bench import Bench
from benchmarks.contestants import Contestant, Running, sink
from benchmarks.measure import Deadline, InvalidCellError, Stopwatch, Window
from benchmarks.quantities import Quantity, Row, Sample
from benchmarks.workload import Format, LogFile

_POLL_SECONDS = 0.02
# Far slower than any worker: a cell that takes longer has failed.
_SLOWEST = 3_000
_LEAST_SECONDS = 60.0

_Round = Callable[[Bench, Running, Format, int], Window]
_Quantities = tuple[Quantity, Quantity, Quantity, Quantity]


def source_cell(bench: Bench, contestant: Contestant, form: Format, tasks: int) -> Iterator[Sample]:
    """Measure files to topics with a fresh worker: cold, warmed up, warm."""
    quantities = (Quantity.SOURCE_COLD, Quantity.SOURCE_WARM, Quantity.SOURCE_CPU, Quantity.SOURCE_MEMORY)
    return _cell(bench, contestant, form, tasks, source_round, quantities)


def sink_cell(bench: Bench, contestant: Contestant, form: Format, tasks: int) -> Iterator[Sample]:
    """Measure topics to files with a fresh worker: cold, warmed up, warm."""
    quantities = (Quantity.SINK_COLD, Quantity.SINK_WARM, Quantity.SINK_CPU, Quantity.SINK_MEMORY)
    return _cell(bench, contestant, form, tasks, sink_round, quantities)


@dataclass(frozen=True, slots=True)
class TopicRules:
    """When a topic has the lines of a file.

    Attributes:
        full: returns a function that returns whether the last line is there.
        check: raises InvalidCellError where it does not hold each line once.
    """

    full: Callable[[Bench, str, LogFile, Format], Callable[[], bool]]
    check: Callable[[Bench, str, LogFile, Format], None]


def _topic_full(bench: Bench, topic: str, file: LogFile, _: Format) -> Callable[[], bool]:
    return lambda: bench.topics.end_offset(topic) >= file.lines


def _check_topic(bench: Bench, topic: str, file: LogFile, form: Format) -> None:
    count = bench.topics.end_offset(topic)
    if count != file.lines:
        raise InvalidCellError(f"{topic} holds {count} records, {file.path.name} {file.lines} lines")
    check_values(bench, topic, file, form)


def check_values(bench: Bench, topic: str, file: LogFile, form: Format) -> None:
    """Raise InvalidCellError where the values of a topic are not those of a file's lines; markers do not count."""
    if bench.topics.digest(topic, count=file.lines) != file.digest(form):
        raise InvalidCellError(f"the values in {topic} are not those of the lines in {file.path.name}")


_PLAIN = TopicRules(_topic_full, _check_topic)


def source_round(bench: Bench, worker: Running, form: Format, tasks: int, rules: TopicRules = _PLAIN) -> Window:
    """Move all files into new topics, once.

    Raises:
        InvalidCellError: a topic does not hold what the worker was to write.
    """
    files, names = bench.workload.files(tasks), [bench.name("source") for _ in range(tasks)]
    with bench.new_topics(tasks) as topics:
        given = list(zip(names, files, topics, strict=True))
        connectors = [worker.source(name, file.path, topic) for name, file, topic in given]
        watch = Stopwatch(worker.processes)
        for connector in connectors:
            worker.create(connector)
        await_all(worker, bench.workload.lines, [rules.full(bench, topic, file, form) for _, file, topic in given])
        window = watch.stop()
        for name, file, topic in given:
            worker.delete(name)
            rules.check(bench, topic, file, form)
    return window


def sink_round(bench: Bench, worker: Running, form: Format, tasks: int) -> Window:
    """Move all topics of this format into new files, once.

    Raises:
        InvalidCellError: a file does not hold what the worker was to write.
    """
    given = [(bench.name("sink"), topic, file) for topic, file in bench.filled_topics(form, tasks)]
    outputs = [bench.path("sink-output") for _ in given]
    connectors = [sink(name, topic, output) for (name, topic, _), output in zip(given, outputs, strict=True)]
    watch = Stopwatch(worker.processes)
    for connector in connectors:
        worker.create(connector)
    full = [_file_full(output, file) for output, (_, _, file) in zip(outputs, given, strict=True)]
    await_all(worker, bench.workload.lines, full)
    window = watch.stop()
    for output, (name, _, file) in zip(outputs, given, strict=True):
        worker.delete(name)
        _check_file(output, file)
        output.unlink()
    return window


def warm_up(bench: Bench, worker: Running, form: Format, tasks: int, run: _Round, done: int = 0) -> None:
    """Move lines until the worker has moved enough of them, then wait until it is idle."""
    while done < bench.effort.warm_up:
        run(bench, worker, form, tasks)
        done += bench.workload.lines
    worker.processes.settle()


def _cell(
    bench: Bench, contestant: Contestant, form: Format, tasks: int, run: _Round, quantities: _Quantities
) -> Iterator[Sample]:
    cold, warm, processor, memory = (Row(quantity, form, tasks) for quantity in quantities)
    thousands = bench.workload.lines / 1e3
    if run is sink_round:
        bench.filled_topics(form, tasks)  # before the worker starts: filling takes time from nobody
    with bench.worker(contestant, form) as worker:
        worker.wait_ready()
        worker.processes.settle()
        first = run(bench, worker, form, tasks)
        yield Sample(cold, contestant, thousands / first.seconds)
        warm_up(bench, worker, form, tasks, run, bench.workload.lines)
        window = run(bench, worker, form, tasks)
        yield Sample(warm, contestant, thousands / window.seconds)
        yield Sample(processor, contestant, window.cpu_seconds * 1e3 / thousands)
        yield Sample(memory, contestant, worker.processes.peak_bytes() / 1e6)


def await_all(worker: Running, lines: int, full: list[Callable[[], bool]]) -> None:
    """Wait until all checks succeed. Raises InvalidCellError when that takes too long for this number of lines."""

    def all_full() -> bool:
        while full and full[-1]():
            full.pop()
        return not full

    deadline = Deadline(_LEAST_SECONDS + lines / _SLOWEST, f"{lines} lines are moved")
    worker.await_end(deadline, all_full, _POLL_SECONDS)


def _file_full(output: Path, file: LogFile) -> Callable[[], bool]:
    return lambda: output.exists() and output.stat().st_size >= file.size


def _check_file(output: Path, file: LogFile) -> None:
    count = output.stat().st_size
    if count != file.size:
        raise InvalidCellError(f"{output.name} has {count} bytes, {file.path.name} {file.size}")
    if LogFile(output, file.lines).digest() != file.digest():
        raise InvalidCellError(f"{output.name} does not hold the lines of {file.path.name}")

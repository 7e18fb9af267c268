"""Files to topics through five transforms and an Avro converter, compared with Java with the same chain."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import replace

from benchmarks.bench import Bench
from benchmarks.contestants import OURS, Contestant, Running, java_standalone
from benchmarks.measure import Deadline, InvalidCellError, Stopwatch, Window
from benchmarks.quantities import Quantity, Row, Sample
from benchmarks.workload import Format, LogFile
from connect_dagster.embedded.jars import resolve
from tests.registry_converters import AVRO, JAVAS_AVRO, JAVAS_JARS, registry_options
from tests.registry_server import registry_server

_HOST = "web-1"
_ID_BYTES = 5
_SLOWEST = 3_000
_LEAST_SECONDS = 60.0
_POLL_SECONDS = 0.02
_TRANSFORMS = "org.apache.kafka.connect.transforms"
_CHAIN = {
    "transforms": "hoist,host,log,rename,name",
    "transforms.hoist.type": f"{_TRANSFORMS}.HoistField$Value",
    "transforms.hoist.field": "line",
    "transforms.host.type": f"{_TRANSFORMS}.InsertField$Value",
    "transforms.host.static.field": "host",
    "transforms.host.static.value": _HOST,
    "transforms.log.type": f"{_TRANSFORMS}.InsertField$Value",
    "transforms.log.topic.field": "log",
    "transforms.rename.type": f"{_TRANSFORMS}.ReplaceField$Value",
    "transforms.rename.renames": "line:message",
    "transforms.name.type": f"{_TRANSFORMS}.SetSchemaMetadata$Value",
    "transforms.name.schema.name": "shop.AccessLine",
}


def chain_cell(bench: Bench, contestant: Contestant, form: Format, tasks: int) -> Iterator[Sample]:
    """Measure a file to a topic through the chain with a fresh worker: cold, warmed up, warm."""
    cold, warm, processor, memory = (
        Row(quantity, form, tasks)
        for quantity in (Quantity.CHAIN_COLD, Quantity.CHAIN_WARM, Quantity.CHAIN_CPU, Quantity.CHAIN_MEMORY)
    )
    thousands = bench.workload.lines / 1e3
    with registry_server(bench.path("registry")) as registry, bench.worker(_with_avro(contestant), form) as worker:
        worker.wait_ready()
        worker.processes.settle()
        extra = {**_CHAIN, **_converter(contestant, registry)}
        yield Sample(cold, contestant, thousands / _round(bench, worker, extra).seconds)
        done = bench.workload.lines
        while done < bench.effort.warm_up:
            _round(bench, worker, extra)
            done += bench.workload.lines
        worker.processes.settle()
        window = _round(bench, worker, extra)
        yield Sample(warm, contestant, thousands / window.seconds)
        yield Sample(processor, contestant, window.cpu_seconds * 1e3 / thousands)
        yield Sample(memory, contestant, worker.processes.peak_bytes() / 1e6)


def _round(bench: Bench, worker: Running, extra: Mapping[str, str]) -> Window:
    """Move the file into a new topic, once. Raises InvalidCellError when the topic holds other records."""
    (file,) = bench.workload.files(1)
    name = bench.name("chain")
    with bench.new_topics(1) as (topic,):
        connector = {**worker.source(name, file.path, topic), **extra}
        watch = Stopwatch(worker.processes)
        worker.create(connector)
        _await_full(bench, worker, topic, file)
        window = watch.stop()
        worker.delete(name)
        _check(bench, topic, file)
    return window


def _await_full(bench: Bench, worker: Running, topic: str, file: LogFile) -> None:
    deadline = Deadline(_LEAST_SECONDS + file.lines / _SLOWEST, f"{file.lines} lines are moved")
    worker.await_end(deadline, lambda: bench.topics.end_offset(topic) >= file.lines, _POLL_SECONDS)


def _check(bench: Bench, topic: str, file: LogFile) -> None:
    if bench.topics.digest(topic, skip=_ID_BYTES) != _expected(topic, file):
        raise InvalidCellError(f"the values in {topic} are not those of the lines in {file.path.name}")


def _expected(topic: str, file: LogFile) -> str:
    """Return a hash of the Avro records after their ids: message, and after the index of their branch host and log."""
    rest = b"".join(b"\x02" + _avro(text.encode()) for text in (_HOST, topic)) + b"\n"
    sha = hashlib.sha256()
    for block in file.blocks():
        sha.update(b"".join(_avro(line) + rest for line in block.removesuffix(b"\n").split(b"\n")))
    return sha.hexdigest()


def _avro(text: bytes) -> bytes:
    length, head = len(text) << 1, bytearray()
    while length > 0x7F:
        head.append(length & 0x7F | 0x80)
        length >>= 7
    return bytes([*head, length]) + text


def _converter(contestant: Contestant, registry: str) -> dict[str, str]:
    converter = AVRO if contestant is OURS else JAVAS_AVRO
    told = {f"value.converter.{name}": value for name, value in registry_options(converter, registry).items()}
    return {"value.converter": converter, **told}


def _with_avro(contestant: Contestant) -> Contestant:
    """Return the contestant with an Avro converter on the class path of a Java worker."""
    if contestant.java is None:
        return contestant
    return replace(contestant, make=java_standalone(*contestant.java, jars=resolve(JAVAS_JARS)))

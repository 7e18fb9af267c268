"""`python -m benchmarks.cdc`: our MySQL connector beside Debezium's, at its defaults and tuned, in turn.

    make bench OF=cdc

One MySQL server whose log each contestant reads from the same place, one broker, a fresh worker for each figure. The
number of records is compared with what was changed; that they are equal is for `tests/conformance`.
"""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from enum import Enum
from functools import partial
from pathlib import Path

import click

from benchmarks.cdc.bench import CaptureBench, Effort
from benchmarks.cdc.cells import latency_cell, log_cell, snapshot_cell
from benchmarks.cdc.logs import Log
from benchmarks.contestants import CONTESTANTS, Contestant
from benchmarks.quantities import Sample
from benchmarks.report import Report, listed_facts
from benchmarks.topics import Topics
from benchmarks.turns import Turns, run_to_table, take_turns
from connect_dagster.embedded.broker import EmbeddedBroker
from tests.binlog_servers import mysql_server
from tests.conformance.java_debezium import plugin_path


class Kind(Enum):
    """A kind of cell; the value is its name on the command line."""

    SNAPSHOT = "snapshot"
    BULK = "bulk"
    MIXED = "mixed"
    SINGLE = "single"
    MANY = "many"
    LATENCY = "latency"


Run = Callable[[CaptureBench, Contestant], Iterator[Sample]]
_RUNS: dict[Kind, Run] = {
    Kind.SNAPSHOT: snapshot_cell,
    **{Kind[log.name]: partial(log_cell, kind=log) for log in Log},
    Kind.LATENCY: latency_cell,
}
_SERVER = {"innodb-flush-log-at-trx-commit": "0", "sync-binlog": "0", "innodb-buffer-pool-size": "512M"}


@click.command()
@click.option("--repetitions", type=click.IntRange(min=1), help="Of each cell.  [default: 3; quick: 1]")
@click.option("--quick", is_flag=True, help="One repetition, less of everything: to see that all cells run.")
@click.option(
    "--cells", "kinds", multiple=True, type=click.Choice([kind.value for kind in Kind]), help="Only this kind."
)
def main(repetitions: int | None, quick: bool, kinds: Sequence[str]) -> None:
    """Compare our MySQL connector with Debezium's. Progress goes to standard error, the table to standard output.

    Ends with 1 when a figure is void: a connector failed, or did not give exactly the records of the changes.
    """
    effort = Effort(100_000, 20_000, 20) if quick else Effort(1_000_000, 300_000, 200)
    rounds = repetitions or (1 if quick else 3)
    cells = [Kind(name) for name in kinds] or list(Kind)
    run_to_table(_facts(effort, rounds), partial(_run, cells, effort, rounds))


def _run(cells: Sequence[Kind], effort: Effort, repetitions: int, report: Report) -> None:
    with tempfile.TemporaryDirectory(prefix="connect-dagster-bench-") as name:
        folder = Path(name)
        with (
            EmbeddedBroker(folder / "broker", 0, heap="2g", jvm=()) as broker,
            mysql_server(options=_SERVER) as server,
            closing(Topics(broker.bootstrap_servers)) as topics,
        ):
            plugins = plugin_path(folder / "plugins")
            bench = CaptureBench(folder, server, broker, topics, plugins, effort, server.new_user())
            turns = [Turns(cell.value, CONTESTANTS, partial(_RUNS[cell], bench)) for cell in cells]
            take_turns(turns, repetitions, report)


def _facts(effort: Effort, repetitions: int) -> str:
    return listed_facts(
        f"one MySQL server ({', '.join(f'{name}={value}' for name, value in _SERVER.items())}); {repetitions} "
        "repetitions in turn: median (least–most)",
        f"snapshot: {effort.rows} rows of 8 columns, from the creation of the connector in a worker that has taken a "
        "small one; RSS of the worker is VmHWM of all its processes",
        f"log: {effort.rows} inserted rows in bulk, {effort.fewer} records of each other kind, from the same position "
        f"for all; what counts begins after {effort.warm_share:.0%} of them",
        f"latency: {effort.samples} updates of one row, from the end of COMMIT to the consumer's poll",
        "JSON without schemas; Java tuned: max.batch.size=20480, max.queue.size=81920, snapshot.fetch.size=20000, and "
        "the producer's settings of the other benchmarks",
    )


if __name__ == "__main__":
    main()

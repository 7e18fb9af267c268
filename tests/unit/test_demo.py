import re
import tempfile
import time
from contextlib import ExitStack
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest
from dagster import DagsterInstance

from connect_dagster.embedded.ports import free_port
from connect_dagster.orchestration.assets.keys import topic_key
from examples.demo.__main__ import _port
from examples.demo.access_log import AccessLogWriter, access_log_lines
from examples.demo.evidence import Evidence, compare, count_lines, newest_worker_run

COMBINED = re.compile(r'\S+ - - \[[^]]+\] "GET \S+ HTTP/1\.1" \d{3} \d+ "-" "[^"]+" \d+')
COMPLETE = Evidence(
    expected=2,
    compared=2,
    difference=None,
    end_offsets={("connect-test", 0): 2},
    lag=0,
    spark_rows={"local-file-source-0": 2, "local-file-sink-0": 2},
    run=None,
    materialized={topic_key("connect-test"): (1, 2)},
)
NO_RUN = "no run of connect_worker is under way"


def test_the_log_has_nginxs_format_and_no_line_twice() -> None:
    lines = list(islice(access_log_lines(), 500))
    assert all(COMBINED.fullmatch(line) for line in lines)
    assert len(set(lines)) == 500


def test_the_writer_writes_exactly_the_lines_and_ends(tmp_path: Path) -> None:
    writer = AccessLogWriter(tmp_path / "access.log", lines=205, rate=2000, trickle=0)
    writer.start()
    writer.join(timeout=30)
    assert count_lines(tmp_path / "access.log") == 205


def test_the_writer_trickles_on_until_it_is_stopped(tmp_path: Path) -> None:
    writer = AccessLogWriter(tmp_path / "access.log", lines=10, rate=2000, trickle=200)
    writer.start()
    deadline = time.monotonic() + 30
    while count_lines(tmp_path / "access.log") < 30:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    writer.stop()
    assert not writer.is_alive()


def test_two_demos_have_two_ports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    default = free_port()
    with ExitStack() as one, ExitStack() as other:
        assert _port(one, default) == default
        assert _port(other, default) != default
    with ExitStack() as later:
        assert _port(later, default) == default


def test_lines_are_compared_one_by_one(tmp_path: Path) -> None:
    source, sink = tmp_path / "source", tmp_path / "sink"
    source.write_text("a\nb\nc\n")
    assert compare(source, sink) == (0, None)
    sink.write_text("a\nb\n")
    assert compare(source, sink) == (2, None)
    sink.write_text("a\nx\nc\n")
    assert compare(source, sink) == (1, "; line 2 is b'x\\n' instead of b'b\\n'")
    sink.write_text("a\nb\nc\n")
    assert compare(source, sink) == (3, None)


def test_a_line_too_many_is_a_difference(tmp_path: Path) -> None:
    source, sink = tmp_path / "source", tmp_path / "sink"
    source.write_text("a\n")
    sink.write_text("a\na\n")
    assert compare(source, sink) == (1, "; line 2 is b'a\\n' instead of nothing")


def test_the_evidence_names_whatever_is_missing() -> None:
    assert COMPLETE.missing() == [NO_RUN]
    assert replace(COMPLETE, compared=1).missing()[0] == "1 of 2 lines are in the sink file"
    assert replace(COMPLETE, end_offsets={}).missing()[0] == "the topic ends at 0 instead of 2"
    assert replace(COMPLETE, lag=1).missing()[0] == "the sink's group lags by 1 records"
    assert replace(COMPLETE, spark_rows={"local-file-source-0": 2}).missing()[0] == (
        "0 rows instead of 2 went through Spark for local-file-sink-0"
    )
    assert replace(COMPLETE, materialized={topic_key("connect-test"): (0, 0)}).missing()[-1] == (
        "the last materialisation of kafka/connect-test has 0 records"
    )


def test_an_instance_without_runs_has_no_worker_run() -> None:
    with DagsterInstance.ephemeral() as instance:
        assert newest_worker_run(instance) is None

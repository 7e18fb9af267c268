"""Kernels are compiled before they are called, for the types with which they are called."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

_SCRIPT = """
from connect_dagster.connectors.mysql import task
from connect_dagster.connectors.mysql.decode import kernels
kernels.compile_kernels()
compiled = [one for one in kernels._KERNELS if hasattr(one, "compile")]
print(len(compiled), sum(len(one.signatures) for one in compiled))
import numpy as np
from connect_dagster.connectors.mysql.decode.columns import Reading, decode
from connect_dagster.connectors.mysql.decode.row_events import TableMaps, row_images
from connect_dagster.connectors.mysql.decode.scan import scan_events, scan_packets
from connect_dagster.connectors.mysql.decode.kernels import writable
from tests import binlog
from tests.binlog import EventType, event, packet, rows_event, table_map
columns = [binlog.integer(3, 4, signed=True), binlog.varchar(40), binlog.date(), binlog.datetime2(3)]
columns += [binlog.decimal(10, 2)]
body = rows_event(EventType.WRITE_ROWS, 1, columns, [[1, b"a", (2024, 2, 29), None, None], [2, *[None] * 4]])
log = event(EventType.TABLE_MAP, table_map(1, columns)) + event(EventType.WRITE_ROWS, body)
buffer = writable(log)
events = scan_events(buffer)
(group,) = TableMaps().groups(buffer, events)
images = row_images(buffer, events, group)
for at, stored in enumerate(group.table.columns):
    decode(buffer, images.cells[at], stored, Reading(charset="utf8mb4"))
scan_packets(writable(packet(log)), 0, len(log) + 5, checksums=False)
print(sum(len(one.signatures) for one in compiled))
"""


def test_no_kernel_is_compiled_again_when_it_is_called() -> None:
    ran = subprocess.run([sys.executable, "-c", _SCRIPT], capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 0, ran.stderr
    before, after = ran.stdout.splitlines()
    count, _, signatures = before.partition(" ")
    assert int(count) > 30
    assert signatures == after


@pytest.mark.nightly
@pytest.mark.timeout(1800)
def test_kernels_that_are_not_compiled_read_the_same() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", str(Path(__file__).parent)]
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    deselected = ["--deselect", f"{Path(__file__).relative_to(Path.cwd())}"]
    ran = subprocess.run([*command, *deselected], capture_output=True, text=True, env=environment, check=False)
    assert ran.returncode == 0, ran.stdout[-3000:]

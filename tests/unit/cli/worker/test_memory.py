"""Threads of a worker share two arenas of glibc."""

import os
import re
import subprocess
import sys

import pytest

# Threads that allocate at the same time; then the state of the arenas on standard output.
PROGRAM = """
import ctypes, threading
from connect_dagster.cli.worker import command
command._bound_arenas()
glibc = ctypes.CDLL(None)
glibc.malloc.restype = glibc.fdopen.restype = ctypes.c_void_p
together = threading.Barrier(8)
def allocate():
    together.wait()
    glibc.malloc(100_000)
    together.wait()
threads = [threading.Thread(target=allocate) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
out = glibc.fdopen(1, b"w")
glibc.malloc_info(0, ctypes.c_void_p(out))
glibc.fflush(ctypes.c_void_p(out))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="glibc is of Linux")
@pytest.mark.parametrize(("own", "most"), [({}, 2), ({"MALLOC_ARENA_MAX": "1"}, 1)])
def test_arenas_are_bounded(own: dict[str, str], most: int) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, env={**os.environ, **own}
    )
    assert 1 <= len(re.findall(r"<heap nr=", ran.stdout)) <= most

"""Commands that run workers until a signal comes (Java: ``AbstractConnectCli``, ``MirrorMaker``).

Exit codes are Java's: 1 usage, 2 the worker could not start, 3 a connector could not be created. Arguments are checked
and the JVM is started before the modules of a worker are imported: that takes as long as the JVM needs to come up.
"""

from __future__ import annotations

import ctypes
import gc
import logging
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from types import FrameType

from setproctitle import setproctitle

from connect_dagster.connectors.mirror.command_line import parse_arguments
from connect_dagster.embedded.errors import EmbeddedError
from connect_dagster.errors import ConfigError, ConnectError
from connect_dagster.java.properties import load_properties
from connect_dagster.scratch import process_scratch
from connect_dagster.worker.logs import output
from connect_dagster.worker.logs.options import LoggingConfig
from connect_dagster.worker.spark.session_start import SessionStart

log = logging.getLogger(__name__)

_M_ARENA_MAX = -8
_ARENAS = 2
# Python's default is 5 ms. A request gives the interpreter's lock away at each call of the system, and waits for it
# that long while another thread computes: with hostile clients 0.8 to 2.9 s in all, with this 0.1 to 0.4.
_SWITCH_SECONDS = 0.001

Run = Callable[[dict[str, str], Sequence[str], SessionStart, threading.Event, float], int]
"""Runs a worker from its properties, further arguments, a starting session, an event that ends it, and the start of the
process (``time.monotonic``); returns the exit code."""


def standalone(arguments: Sequence[str] | None = None) -> None:
    """Run one worker with the connectors of its files (Java: ``ConnectStandalone``)."""
    usage = "ConnectStandalone worker.properties [connector1.properties connector2.json ...]"
    _run_command("ConnectStandalone", usage, arguments, _run_standalone)


def distributed(arguments: Sequence[str] | None = None) -> None:
    """Run one worker of a group (Java: ``ConnectDistributed``); further arguments are ignored."""
    _run_command("ConnectDistributed", "ConnectDistributed worker.properties", arguments, _run_distributed)


def mirror_maker(arguments: Sequence[str] | None = None) -> None:
    """Run the flows of a file (Java: ``MirrorMaker``, ``connect-mirror-maker``)."""
    try:
        parsed = parse_arguments(list(sys.argv[1:] if arguments is None else arguments))
    except ConfigError as error:
        print(error, file=sys.stderr)
        sys.exit(1)
    _run_command("MirrorMaker", "", [parsed.file, *parsed.targets], _run_mirror_maker)


def _run_standalone(
    props: dict[str, str], connector_files: Sequence[str], session: SessionStart, ending: threading.Event, began: float
) -> int:
    from connect_dagster.cli.worker.standalone import run

    return run(props, connector_files, session, ending, began)


def _run_distributed(
    props: dict[str, str], _: Sequence[str], session: SessionStart, ending: threading.Event, began: float
) -> int:
    from connect_dagster.cli.worker.distributed import run

    return run(props, session, ending, began)


def _run_mirror_maker(
    props: dict[str, str], targets: Sequence[str], session: SessionStart, ending: threading.Event, began: float
) -> int:
    from connect_dagster.cli.worker.mirror_maker import run

    return run(props, targets, session, ending, began)


def _run_command(title: str, usage: str, arguments: Sequence[str] | None, run: Run) -> None:
    """Run a worker until a signal stops it, then exit.

    Args:
        title: name of Java's command, which the process title begins with.
        usage: of the command, after ``Usage: ``.
        arguments: instead of those of the process.
        run: called when the worker's file is read.
    """
    began = time.monotonic()
    _bound_arenas()
    sys.setswitchinterval(_SWITCH_SECONDS)
    words = list(sys.argv[1:] if arguments is None else arguments)
    output.configure()
    if not words or "--help" in words:
        log.info("Usage: %s", usage)
        sys.exit(1)
    setproctitle(" ".join([title, *words]))
    signal.signal(signal.SIGQUIT, _dump_threads)
    ending = _ending_on_signals()
    with process_scratch():
        try:
            props = load_properties(words[0])
            output.apply(LoggingConfig.parse(props))
            session = SessionStart(props)
        except (ConnectError, EmbeddedError) as error:
            log.error("Stopping due to error: %s", error)
            sys.exit(2)
        code = run(props, words[1:], session, ending, began)
    gc.freeze()  # before its end the interpreter looks for garbage among all other objects, several times
    sys.exit(code)


def _bound_arenas() -> None:
    """Bound the arenas of glibc, which keeps eight for each core: each grows by what its threads needed at most."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None and "MALLOC_ARENA_MAX" not in os.environ:
        mallopt(_M_ARENA_MAX, _ARENAS)


def _ending_on_signals() -> threading.Event:
    """Return an event that SIGINT, SIGTERM, and on request of the starter the end of standard input set."""
    ending = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ending.set())
    if os.environ.get("CONNECT_DAGSTER_EXIT_ON_STDIN_EOF") == "1":
        threading.Thread(target=_set_at_end_of_input, args=(ending,), name="stdin-watch", daemon=True).start()
    return ending


def _set_at_end_of_input(ending: threading.Event) -> None:
    while os.read(sys.stdin.fileno(), 1024):
        pass
    ending.set()


def _dump_threads(_: int, __: FrameType | None) -> None:
    """Write all stacks to standard error, as a JVM does at SIGQUIT (``kill -QUIT``); the process continues."""
    frames = sys._current_frames()
    for thread in threading.enumerate():
        stack = frames.get(thread.ident or 0)
        daemon = " daemon" if thread.daemon else ""
        print(f'"{thread.name}"{daemon} tid={thread.native_id}', file=sys.stderr)
        sys.stderr.writelines(traceback.format_stack(stack))
        print(file=sys.stderr)
    sys.stderr.flush()

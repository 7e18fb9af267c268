"""Start a child process that ends when this process ends, however it ends, also by SIGKILL.

The command is started through this file, run as a program. It forks a watcher that holds the reading end of a
pipe, and then becomes the command itself, so the child's pid is the command's. The writing end stays in the
parent. When the parent is gone the kernel closes it, the watcher reads the end of the stream and kills the
command. Unlike Linux's parent-death signal this does not depend on the thread that started the child, and it
works on every POSIX system.
"""

import os
import select
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

WATCH_SECONDS = 1.0


def start_leashed(
    command: Sequence[str | Path],
    *,
    log: IO[bytes],
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> "subprocess.Popen[bytes]":
    """Start `command` in a separate session, so that Ctrl+C reaches only us.

    Args:
        command: program and arguments; the program may be a name on `PATH`.
        log: where its standard output and standard error go.
        env: its environment; this process's own by default.
        cwd: its working directory; this process's own by default.

    Returns:
        The process. Its `stdin` is the leash: closing it, or losing this process, kills the command.
    """
    return subprocess.Popen(
        [sys.executable, "-I", "-S", __file__, *map(str, command)],
        stdin=subprocess.PIPE,
        stdout=log,
        stderr=subprocess.STDOUT,
        env=env,
        cwd=cwd,
        start_new_session=True,
    )


def end_leashed(process: "subprocess.Popen[bytes]", seconds: float) -> int:
    """Stop a process of :func:`start_leashed` as Ctrl+C does, and kill it where that takes longer; return its code."""
    process.terminate()
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()
    finally:
        if process.stdin:
            process.stdin.close()


def _watch(command: int) -> None:
    """Wait for the parent's end or the command's, and kill the command in the first case."""
    while os.getppid() == command:
        readable, _, _ = select.select([0], [], [], WATCH_SECONDS)
        if readable and not os.read(0, 4096):
            break
    if os.getppid() == command:
        os.kill(command, signal.SIGKILL)


def _become(command: list[str]) -> None:
    own_pid = os.getpid()
    if os.fork() == 0:
        os.closerange(1, 3)  # the log, and a lock on it, belong to the command alone
        _watch(own_pid)
        os._exit(0)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.execvp(command[0], command)


if __name__ == "__main__":
    _become(sys.argv[1:])

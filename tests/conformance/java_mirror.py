"""MirrorMaker's classes in a child process, which answers questions of one line each."""

import json
import os
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from connect_dagster.embedded.broker_config import FAST_START
from connect_dagster.embedded.jars import resolve
from connect_dagster.embedded.java import find_java

_PROGRAM = Path(__file__).with_name("MirrorInJava.java")
_CLASS = "org.apache.kafka.connect.mirror.MirrorInJava"


class JavaMirror:
    """Starts a JVM at the first question; a context manager that ends it. One caller at a time."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._classes = tempfile.TemporaryDirectory()

    def ask(self, do: str, **question: Any) -> Any:
        """Return the process's answer; `do` is a question of `MirrorInJava`."""
        self._process = process = self._process or self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps({"do": do, **question}) + "\n")
        process.stdin.flush()
        return json.loads(process.stdout.readline())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process:
            assert self._process.stdin is not None
            with self._process:
                self._process.stdin.close()
        self._classes.cleanup()

    def _started(self) -> "subprocess.Popen[str]":
        java, classes = str(find_java()), self._classes.name
        jars = [str(jar) for name in ("java-connect", "java-mirror") for jar in resolve(name)]
        # Compiled first: the launcher of source files loads them apart from the package whose parts they use.
        compiler = [java, *FAST_START, "-m", "jdk.compiler/com.sun.tools.javac.Main", "-proc:none"]
        subprocess.run([*compiler, "-cp", os.pathsep.join(jars), "-d", classes, str(_PROGRAM)], check=True, timeout=240)
        return subprocess.Popen(
            [java, *FAST_START, "-Xmx256m", "-cp", os.pathsep.join([classes, *jars]), _CLASS],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
        )

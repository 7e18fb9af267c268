"""Starts the JVM of a Spark session: PySpark's gateway, without the launcher JVM and with a class archive.

PySpark's own way starts a shell script, a first JVM that works out the command, and the second one that does the
work; starting the second directly saves a second. The gateway ends by itself when its standard input ends, so a
worker that dies in any way leaves no JVM behind.
"""

from __future__ import annotations

import datetime
import hashlib
import importlib.util
import logging
import os
import shlex
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from connect_dagster.embedded import jars
from connect_dagster.embedded.java import find_java
from connect_dagster.errors import ConnectError
from connect_dagster.java.properties import property_lines
from connect_dagster.kafka.security.jaas import realm_options
from connect_dagster.scratch import process_locks
from connect_dagster.worker.spark.settings import CLASS_PATH

log = logging.getLogger(__name__)

_START_SECONDS = 60.0
_END_SECONDS = 2.0
_ARCHIVE_MODULE = "connect_dagster.worker.spark.class_archive"
# Every message about archives; by default warnings go to standard output.
_ARCHIVE_MESSAGES_OFF = ("-Xlog:cds=off", "-Xlog:cds+dynamic=off")

# Packages that Spark's launcher opens on Java 17 (org.apache.spark.launcher.JavaModuleOptions).
_OPENED_PACKAGES = (
    "java.lang",
    "java.lang.invoke",
    "java.lang.reflect",
    "java.io",
    "java.net",
    "java.nio",
    "java.util",
    "java.util.concurrent",
    "java.util.concurrent.atomic",
    "jdk.internal.ref",
    "sun.nio.ch",
    "sun.nio.cs",
    "sun.security.action",
    "sun.util.calendar",
)
# In a file of options for Java's launcher.
_IN_QUOTES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r"})
# The second compiler waits for twenty times as many calls and loops as by default: what is hot is so soon enough,
# and the rest is not worth it (docs/decisions/0037-the-second-compiler-waits.md).
_LATER = {"Invocation": 100_000, "MinInvocation": 12_000, "Compile": 300_000, "BackEdge": 800_000}
_JVM_OPTIONS = (
    *(f"-XX:Tier4{what}Threshold={count}" for what, count in _LATER.items()),
    "-XX:+UseParallelGC",
    # Code that Spark generates for records of many fields is larger than what the JVM compiles by default: it would be
    # interpreted forever (docs/decisions/0052-large-tables-have-kept-plans.md).
    "-XX:-DontCompileHugeMethods",
    "-XX:+IgnoreUnrecognizedVMOptions",
    "-Djdk.reflect.useDirectMethodHandle=false",
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-Djava.net.preferIPv4Stack=true",
    # JDBC makes times of a database's dates in the JVM's zone: one with summer time lacks an hour each year.
    "-Duser.timezone=UTC",
    *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED_PACKAGES),
)


class SparkJvm:
    """A JVM with PySpark's gateway in it; starting it returns at once, so that the worker can get ready meanwhile.

    Args:
        settings: Spark settings; the heap is ``spark.driver.memory``, and ``spark.driver.extraJavaOptions`` count.
        options: further JVM options.
    """

    def __init__(self, settings: Mapping[str, str], options: Sequence[str] = ()) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self._files = _Files(Path(self._folder.name))
        self._process = _start(_command(settings, options, self._files), self._files.address)

    @property
    def alive(self) -> bool:
        """Return whether the process runs."""
        return self._process.poll() is None

    def gateway(self) -> tuple[int, str]:
        """Port and secret of the gateway; waits until it listens.

        Raises:
            ConnectError: the JVM ended, or took too long.
        """
        deadline = time.monotonic() + _START_SECONDS
        while not self._files.address.exists():
            self.check_start()
            if time.monotonic() > deadline:
                self.stop(0)
                raise ConnectError(f"The JVM for Spark was not up within {_START_SECONDS:.0f} s")
            time.sleep(0.01)
        self._files.remove_secrets()
        if refused := self._files.archive_log():
            remedy = f"remove {class_archive()} and write it again"
            log.info("%s The JVM says: %s", _slow_start("cannot be used", remedy), refused)
        return _read_address(self._files.address.read_bytes())

    def check_start(self, error: Exception | None = None) -> None:
        """Raise ConnectError where the JVM has ended, which explains an error of its gateway.

        Its port is closed a moment before it has ended.
        """
        if error is not None:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_END_SECONDS)
        if not self.alive:
            code = self._process.returncode
            raise ConnectError(f"The JVM for Spark ended at its start with exit code {code}") from error

    def stop(self, seconds: float) -> bool:
        """End the JVM with its standard input, after ``seconds`` by force; return whether it ended by itself."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._folder.cleanup()
        return self._process.returncode >= 0


def classpath() -> list[Path]:
    """Spark's own jars and those of its Kafka source, in a fixed order."""
    own = sorted((_spark_home() / "jars").glob("*.jar"))
    return own + jars.resolve("spark-kafka")


def class_archive() -> Path:
    """Return the path of the archive of loaded classes (AppCDS) for this JVM and these jars."""
    # PATH, JAVA_HOME and symbolic links name one JVM in several ways; an upgrade leaves its path as it is.
    java = find_java().resolve()
    release = java.parents[1] / "release"
    version = release.read_text(encoding="utf-8") if release.exists() else ""
    key = "\n".join([str(java), version, *(f"{jar} {jar.stat().st_size}" for jar in classpath())])
    # It fits these jars where they lie, so it goes away with their virtual environment.
    own = sys.prefix if sys.prefix != sys.base_prefix else os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")
    return Path(own) / "connect-dagster" / f"classes-{hashlib.sha256(key.encode()).hexdigest()[:16]}.jsa"


class _Files:
    """Files that pass settings and their secrets to the JVM, as all users of the machine can read a command line.

    Args:
        folder: a folder that only this user may enter.
    """

    def __init__(self, folder: Path) -> None:
        self.address = folder / "address"
        self._options = folder / "options"
        self._properties = folder / "spark.properties"
        self._archive_log = folder / "archive.log"

    def options(self, given: Sequence[str]) -> list[str]:
        """Return the word that makes Java's launcher read these options from a file."""
        if not given:
            return []
        quoted = (option.translate(_IN_QUOTES) for option in given)
        self._write(self._options, "".join(f'"{option}"\n' for option in quoted))
        return [f"@{self._options}"]

    def properties(self, settings: Mapping[str, str]) -> list[str]:
        """Return the words that make SparkSubmit read these settings from a file, and also ``spark-defaults.conf``."""
        self._write(self._properties, property_lines(settings))
        return ["--properties-file", str(self._properties), "--load-spark-defaults"]

    def shared_archive(self, archive: Path) -> list[str]:
        """Return the words that make the JVM take classes from an archive, and write warnings about it to a file."""
        warnings = f"-Xlog:cds*=warning:file={self._archive_log}:none"
        return [f"-XX:SharedArchiveFile={archive}", *_ARCHIVE_MESSAGES_OFF, warnings]

    def archive_log(self) -> str:
        """Return the JVM's warnings about the archive as one line; empty where it uses it, or has none."""
        if not self._archive_log.exists():
            return ""
        return " ".join(self._archive_log.read_text(errors="replace").split())

    def remove_secrets(self) -> None:
        """Remove what the JVM has read."""
        for file in (self._options, self._properties):
            file.unlink(missing_ok=True)

    def _write(self, file: Path, text: str) -> None:
        file.touch(mode=0o600)
        file.write_text(text, encoding="utf-8")


def _command(settings: Mapping[str, str], options: Sequence[str], files: _Files) -> list[str]:
    archive = class_archive()
    if archive.exists():
        shared = files.shared_archive(archive)
    else:
        shared = []
        log.info("%s", _slow_start("is missing", f"write {archive}"))
    logging = f"-Dlog4j2.configurationFile={Path(__file__).with_name('log4j2.properties')}"
    given = shlex.split(settings.get("spark.driver.extraJavaOptions", ""))
    heap = f"-Xmx{settings['spark.driver.memory']}"
    scratch = f"-Djava.io.tmpdir={tempfile.gettempdir()}"
    own = [heap, *_JVM_OPTIONS, *realm_options(os.environ), logging, scratch, _log_zone(), *shared, *options]
    # The user's jars, and JDBC drivers, go behind Spark's own, so that the class archive still fits.
    jars_of_user = [jar.strip().removeprefix("file:") for jar in settings.get("spark.jars", "").split(",") if jar]
    path = [*map(str, classpath()), *filter(None, [settings.get(CLASS_PATH)]), *jars_of_user]
    return [str(find_java()), *own, *files.options(given), "-cp", os.pathsep.join(path), *_main_class(settings, files)]


def _slow_start(reason: str, remedy: str) -> str:
    return (
        f"The archive of the JVM's classes {reason}, so that the start takes some seconds longer: {remedy}, "
        f"by `make install` or `{sys.executable} -m {_ARCHIVE_MODULE}`."
    )


def _log_zone() -> str:
    """This machine's zone, for the log lines of the JVM: they stand among those of the worker."""
    return f"-Dconnect.log.zone=GMT{datetime.datetime.now().astimezone():%z}"


def _main_class(settings: Mapping[str, str], files: _Files) -> list[str]:
    """Other masters than the local one need what SparkSubmit sets up for them."""
    if settings["spark.master"].startswith("local"):
        return ["org.apache.spark.api.python.PythonGatewayServer"]
    return ["org.apache.spark.deploy.SparkSubmit", *files.properties(settings), "pyspark-shell"]


def _read_address(data: bytes) -> tuple[int, str]:
    """Return the port and the secret that the gateway writes."""
    port, length = struct.unpack_from(">ii", data)
    return port, data[8 : 8 + length].decode()


def _spark_home() -> Path:
    # Without importing PySpark, which takes half a second that the JVM can use.
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise ConnectError("PySpark is not installed")
    return Path(spec.origin).parent


def _start(command: Sequence[str], address: Path) -> subprocess.Popen[bytes]:
    own = {
        "_PYSPARK_DRIVER_CONN_INFO_PATH": str(address),
        "SPARK_CONNECT_MODE": "0",
        # glibc keeps an arena for each thread: hundreds of megabytes in a JVM with many.
        "MALLOC_ARENA_MAX": "2",
        "SPARK_HOME": str(_spark_home()),
        # Spark's scripts look for it in its folders; without them the executors of a cluster do not start.
        "SPARK_SCALA_VERSION": "2.13",
    }
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        env={"SPARK_LOCAL_IP": "127.0.0.1", **os.environ, **own},
        preexec_fn=_ignore_interrupts,
        pass_fds=process_locks(),
    )


def _ignore_interrupts() -> None:
    # Ctrl+C reaches the whole group; the worker itself stops the JVM when the tasks are done with it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)

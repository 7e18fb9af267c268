"""Starts the JVM of a Spark session: PySpark's gateway, without the launcher JVM and with a class archive.

PySpark's own way starts a shell script, a first JVM that works out the command, and the second one that does the
work; starting the second directly saves a second. The gateway ends by itself when its standard input ends, so a
worker that dies in any way leaves no JVM behind.
"""

from __future__ import annotations

import hashlib
import os
import signal
import struct
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import pyspark

from connect_dagster.embedded import jars
from connect_dagster.embedded.java import find_java
from connect_dagster.plugin.errors import ConnectError

_START_SECONDS = 60.0

# What Spark's launcher would open on Java 17 (org.apache.spark.launcher.JavaModuleOptions).
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
_JVM_OPTIONS = (
    "-XX:+IgnoreUnrecognizedVMOptions",
    "-Djdk.reflect.useDirectMethodHandle=false",
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-Djava.net.preferIPv4Stack=true",
    *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED_PACKAGES),
)


@dataclass(frozen=True, slots=True)
class Gateway:
    """A running JVM with PySpark's gateway in it."""

    process: subprocess.Popen[bytes]
    port: int
    secret: str

    def stop(self, seconds: float) -> None:
        """End the JVM: by the end of its standard input, after ``seconds`` by a signal."""
        if self.process.stdin is not None:
            self.process.stdin.close()
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def classpath() -> list[Path]:
    """Spark's own jars and those of its Kafka source, in a fixed order."""
    own = sorted((Path(pyspark.__file__).parent / "jars").glob("*.jar"))
    return own + jars.resolve("spark-kafka")


def class_archive() -> Path:
    """Where the archive of loaded classes (AppCDS) for this JVM and these jars lies once it was made."""
    key = "\n".join([str(find_java()), *(f"{jar} {jar.stat().st_size}" for jar in classpath())])
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "connect-dagster"
    return cache / f"classes-{hashlib.sha256(key.encode()).hexdigest()[:16]}.jsa"


def launch(memory: str, *, local: bool, settings: Mapping[str, str], options: Sequence[str] = ()) -> Gateway:
    """Start the JVM and wait until its gateway listens.

    Args:
        memory: heap of the JVM, such as ``1g``.
        local: whether Spark runs inside this JVM; other masters need what SparkSubmit sets up for them.
        settings: Spark settings, for SparkSubmit.
        options: further JVM options.

    Raises:
        ConnectError: the JVM ended before its gateway was up.
    """
    with tempfile.TemporaryDirectory() as folder:
        address = Path(folder) / "address"
        process = _start(_command(memory, _main_class(settings, local=local), options), address)
        _await(process, address)
        return Gateway(process, *_read_address(address.read_bytes()))


def _main_class(settings: Mapping[str, str], *, local: bool) -> list[str]:
    if local:
        return ["org.apache.spark.api.python.PythonGatewayServer"]
    pairs = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    return ["org.apache.spark.deploy.SparkSubmit", *pairs, "pyspark-shell"]


def _command(memory: str, main: Sequence[str], options: Sequence[str]) -> list[str]:
    archive = class_archive()
    shared = [f"-XX:SharedArchiveFile={archive}", "-Xlog:cds=off", "-Xlog:cds+dynamic=off"] if archive.exists() else []
    logging = f"-Dlog4j2.configurationFile={files('connect_dagster.worker') / 'log4j2.properties'}"
    jars_in_order = os.pathsep.join(str(jar) for jar in classpath())
    java = [str(find_java()), f"-Xmx{memory}", *_JVM_OPTIONS, logging, *shared, *options]
    return [*java, "-cp", jars_in_order, *main]


def _read_address(data: bytes) -> tuple[int, str]:
    """What the gateway writes: its port, then the length of its secret and the secret."""
    port, length = struct.unpack_from(">ii", data)
    return port, data[8 : 8 + length].decode()


def _start(command: Sequence[str], address: Path) -> subprocess.Popen[bytes]:
    spark_home = str(Path(pyspark.__file__).parent)
    own = {
        "_PYSPARK_DRIVER_CONN_INFO_PATH": str(address),
        "SPARK_CONNECT_MODE": "0",
        "SPARK_HOME": spark_home,
    }
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        env={"SPARK_LOCAL_IP": "127.0.0.1", **os.environ, **own},
        preexec_fn=_ignore_interrupts,
    )


def _ignore_interrupts() -> None:
    # Ctrl+C reaches the whole group; the worker itself stops the JVM when the tasks are done with it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _await(process: subprocess.Popen[bytes], address: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while not address.exists():
        if process.poll() is not None:
            raise ConnectError(f"The JVM for Spark ended with exit code {process.returncode}; its output is above")
        if time.monotonic() > deadline:
            process.kill()
            raise ConnectError(f"The JVM for Spark was not up within {_START_SECONDS:.0f} s")
        time.sleep(0.01)

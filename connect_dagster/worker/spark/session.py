"""The worker's Spark session: its settings, and the warm-up of its first batch.

Independent of connectors.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from functools import cached_property
from importlib import import_module

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.converters.json.converter import JsonConverter
from connect_dagster.plugin.frames import executors_are_local
from connect_dagster.plugin.schema import STRING_SCHEMA
from connect_dagster.worker.spark import gateway_calls
from connect_dagster.worker.spark import references as java_references
from connect_dagster.worker.spark.arrow_files import to_arrow
from connect_dagster.worker.spark.jvm import SparkJvm
from connect_dagster.worker.spark.kept_projection import NotKeptError
from connect_dagster.worker.spark.settings import spark_settings
from connect_dagster.worker.spark.text_slot import TextSlot

_LEAST_BYTES, _MOST_BYTES = 1 << 20, 32 << 20
# The records of a Spark task are held as rows, as Arrow and as bytes to send, and each core may have a task.
_SHARE_OF_HEAP = 8
_LEAST_ENCODED_BYTES, _MOST_ENCODED_BYTES = 16 << 20, 64 << 20
# The encoded records of a source's batch are held by Spark tasks, and twice more on their way to Python.
_ENCODED_SHARE_OF_HEAP = 16


class Session:
    """Spark and its JVM, for as long as the worker lives.

    Args:
        settings: the worker's Spark settings (``spark_settings``).
        jvm: the JVM, started with the same settings; it may still be on its way up.

    Raises:
        ConnectError: the JVM ended.
    """

    def __init__(self, settings: Mapping[str, str], jvm: SparkJvm) -> None:
        self._jvm = jvm
        java_references.release_quickly()
        gateway_calls.ask_for_numpy_late()
        try:
            self.spark = _connect(jvm, settings)
            gateway_calls.remember_names(self.spark)
        except (OSError, Py4JError) as error:
            jvm.check_start(error)
            raise

    @classmethod
    def launched(cls, worker: Mapping[str, str]) -> Session:
        """Return a session for a worker's properties, with its own JVM."""
        settings = spark_settings(worker)
        return cls(settings, SparkJvm(settings))

    @cached_property
    def batch_bytes(self) -> int:
        """Return the bytes that one Spark task may read for a batch of a sink."""
        share = self._heap // (_SHARE_OF_HEAP * self.spark.sparkContext.defaultParallelism)
        return max(_LEAST_BYTES, min(_MOST_BYTES, share))

    @cached_property
    def encoded_bytes(self) -> int:
        """Return the bytes of encoded records that a batch of a source may have in memory."""
        return max(_LEAST_ENCODED_BYTES, min(_MOST_ENCODED_BYTES, self._heap // _ENCODED_SHARE_OF_HEAP))

    @property
    def _heap(self) -> int:
        jvm = self.spark.sparkContext._jvm
        assert jvm is not None
        return int(jvm.java.lang.Runtime.getRuntime().maxMemory())

    def warm_up(self) -> None:
        """Encode one line: Spark's first batch takes seconds (planner, code generation, Arrow)."""
        with _a_line(self.spark) as line:
            converter = JsonConverter()
            converter.configure({}, is_key=False)
            _, encoded = converter.encode_with_prefix(STRING_SCHEMA, F.col("value"))
            to_arrow(line.select(encoded))

    @property
    def alive(self) -> bool:
        """Return whether the JVM still runs: without it no task of this worker can go on."""
        return self._jvm.alive

    def stop(self, seconds: float = 5) -> bool:
        """Stop Spark, and its JVM within ``seconds``; return whether that ended by itself."""
        if self.alive:
            gateway = self.spark.sparkContext._gateway
            self.spark.stop()
            if gateway is not None:
                gateway.shutdown()
        return self._jvm.stop(seconds)


@contextmanager
def _a_line(spark: SparkSession) -> Iterator[DataFrame]:
    """Give a line in the way in which most tasks read theirs, where this Spark can."""
    try:
        slot = TextSlot(spark, has_returns=False) if executors_are_local(spark) else None
    except NotKeptError:  # tasks tell of it
        slot = None
    if slot is None:
        yield spark.createDataFrame(pa.table({"value": ["a line"]}))
        return
    with closing(slot):
        slot.write([b"a line"])
        yield slot.df


def _connect(jvm: SparkJvm, settings: Mapping[str, str]) -> SparkSession:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder
    for name, value in settings.items():
        builder = builder.config(name, value)
    with _interrupt_handler_kept(), _gateway_named(*jvm.gateway()):
        # PySpark's `lit` imports it, and with it pandas: a second, in which the JVM makes the session.
        threading.Thread(target=import_module, args=("pyspark.testing.utils",), name="import").start()
        return builder.getOrCreate()


@contextmanager
def _gateway_named(port: int, secret: str) -> Iterator[None]:
    """Set the variables by which PySpark finds a running JVM, for this block only: child processes would use it too."""
    named = {"PYSPARK_GATEWAY_PORT": str(port), "PYSPARK_GATEWAY_SECRET": secret}
    os.environ.update(named)
    try:
        yield
    finally:
        for name in named:
            os.environ.pop(name, None)


@contextmanager
def _interrupt_handler_kept() -> Iterator[None]:
    """PySpark installs a SIGINT handler that cancels all jobs: a graceful stop must be able to finish them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)

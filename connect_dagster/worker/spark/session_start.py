"""Starts a worker's Spark session, on a thread while the worker gets ready.

Light to import: the JVM starts with it before PySpark is loaded.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from typing import TYPE_CHECKING

from connect_dagster.worker.spark.jvm import SparkJvm
from connect_dagster.worker.spark.settings import is_complete, spark_settings

if TYPE_CHECKING:
    from connect_dagster.worker.spark.session import Session


class SessionStart:
    """A JVM on its way up, and the session that is made in it.

    Args:
        worker: the worker's properties, as they stand in its file.

    Raises:
        ConnectError: Spark or Java is not installed.
        JarUnavailable: a JDBC driver is missing and cannot be downloaded.
    """

    def __init__(self, worker: Mapping[str, str]) -> None:
        settings = spark_settings(worker)
        self._jvm = SparkJvm(settings)
        self._session: Future[Session] | None = Future() if is_complete(worker) else None
        # On this thread, and not beside other imports: PySpark's modules import each other.
        from connect_dagster.worker.spark.session import Session

        self._make = Session
        if self._session is not None:
            run = (self._session, settings)
            threading.Thread(target=self._fill, args=run, name="session-start", daemon=True).start()

    def session(self, worker: Mapping[str, str]) -> Session:
        """Return the session, once it is there.

        Args:
            worker: the worker's properties, without placeholders.

        Raises:
            ConnectError: the JVM ended.
        """
        if self._session is None:
            return self._make(spark_settings(worker), self._jvm)
        return self._session.result()

    def stop(self) -> None:
        """End the JVM, of a worker that does not start: its process ends, too."""
        # Where py4j reports that the JVM is gone, which the thread may be about to call.
        logging.getLogger().addFilter(lambda _: False)
        self._jvm.stop(0)

    def _fill(self, session: Future[Session], settings: Mapping[str, str]) -> None:
        try:
            session.set_result(self._make(settings, self._jvm))
        except BaseException as error:
            session.set_exception(error)

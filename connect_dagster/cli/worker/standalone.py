"""Assemble and run a standalone worker (Java: ``ConnectStandalone``): offsets in a file, connectors from files."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping, Sequence

from connect_dagster.cli.worker.process import Parts, WorkerProcess, log_pages, log_start_failure, log_stop
from connect_dagster.client.option_pages import option_pages
from connect_dagster.errors import BadRequestError
from connect_dagster.herder.connector_offsets import OffsetEditor
from connect_dagster.herder.interface import INITIAL_TARGETS, Herder
from connect_dagster.herder.standalone.herder import StandaloneHerder
from connect_dagster.herder.validation.validator import CONNECTOR_CLASS, Validator
from connect_dagster.plugin.connector_file import read_connector_file
from connect_dagster.storage.file_offset_store import FileOffsetStore
from connect_dagster.worker.config.worker import StandaloneConfig
from connect_dagster.worker.spark.session_start import SessionStart
from connect_dagster.worker.worker import Worker

log = logging.getLogger(__name__)


def run(
    props: Mapping[str, str],
    connector_files: Sequence[str],
    session: SessionStart,
    ending: threading.Event,
    began: float,
) -> int:
    """Run a worker with these connectors until ``ending`` is set; return the exit code.

    Args:
        props: the worker's properties.
        connector_files: a file for each connector.
        session: the starting Spark session.
        ending: ends the worker when set.
        began: when the process began (``time.monotonic``), for the log.
    """
    try:
        process = StandaloneProcess(StandaloneConfig, props, session, began)
    except Exception as error:
        session.stop()
        log_start_failure(error)
        return 2
    try:
        if not process.create_connectors(connector_files):
            return 3
        if not connector_files:
            process.warm_up()
        return process.run_until(ending)
    finally:
        process.stop()


class StandaloneProcess(WorkerProcess[StandaloneConfig]):
    """The process of a standalone worker."""

    def create_connectors(self, files: Sequence[str]) -> bool:
        """Create a connector from each file, in order; return False, and log why, at the first that fails."""
        for file in files:
            try:
                request = read_connector_file(file)
                initial = INITIAL_TARGETS[request.initial_state] if request.initial_state else None
                created = self._herder.put_connector(request.name, request.config, initial, allow_replace=False)
            except Exception as error:
                log.error("Failed to create connector for %s", file)
                log_stop("Stopping after connector error", error)
                if isinstance(error, BadRequestError):
                    log_pages(option_pages(request.config.get(CONNECTOR_CLASS) or "", [CONNECTOR_CLASS]))
                return False
            log.info("Created connector %s", created.info.name)
        return True

    def _open_storage(self, config: StandaloneConfig) -> None:
        self._offsets = FileOffsetStore(config.offset_storage_file_filename)
        self._offsets.start()

    def _start_herder(self, parts: Parts[StandaloneConfig]) -> Herder:
        worker = Worker(parts.worker_id, parts.config, parts.plugins, parts.session, self._offsets, parts.transformer)
        editor = OffsetEditor(
            parts.plugins, self._offsets, parts.admin.for_connector, parts.admin.seconds, parts.transformer
        )
        validator = Validator(parts.plugins, parts.config, transformer=parts.transformer)
        self._herder = StandaloneHerder(worker, validator, editor, parts.server)
        self._herder.start()
        return self._herder

    def _stop_herder(self) -> None:
        self._herder.stop()
        self._offsets.stop()

"""Dagster's queue of runs, with a warning when no daemon takes runs from it.

``dagster job launch`` queues a run and ends, whether or not a daemon runs. This class logs which. In
``dagster.yaml``::

    run_coordinator:
      module: connect_dagster.orchestration.run_coordinator
      class: DaemonAwareRunCoordinator
"""

import logging
import time

from dagster import DagsterRun, DagsterRunStatus, QueuedRunCoordinator, SubmitRunContext

# Type of the daemon that takes runs from the queue, as its heartbeats name it.
QUEUE_DAEMON = "QUEUED_RUN_COORDINATOR"
# Three of the daemon's heartbeats.
SILENCE_SECONDS = 90.0

log = logging.getLogger("dagster.connect_dagster.queue")


class DaemonAwareRunCoordinator(QueuedRunCoordinator):
    """Dagster's queue, which logs for each run if a daemon is there to start it."""

    def submit_run(self, context: SubmitRunContext) -> DagsterRun:
        """Queue the run, and log if a daemon will start it."""
        run = super().submit_run(context)
        if run.status is DagsterRunStatus.QUEUED:
            _log_to_stderr()
            self._report(run)
        return run

    def _report(self, run: DagsterRun) -> None:
        queued = f"Run {run.run_id} of job '{run.job_name}' is queued"
        heartbeat = self._instance.get_daemon_heartbeats().get(QUEUE_DAEMON)
        silence = time.time() - heartbeat.timestamp if heartbeat else None
        if silence is not None and silence < SILENCE_SECONDS:
            log.info("%s; the daemon, last seen %d s ago, starts it.", queued, silence)
            return
        seen = "none was ever seen" if silence is None else f"the last was seen {silence / 60:.0f} min ago"
        log.warning(
            "%s, but no Dagster daemon runs on this instance (%s): it waits until one does. Start one with "
            "'dagster dev' or 'dagster-daemon run', on the same DAGSTER_HOME and workspace.",
            queued,
            seen,
        )


def _log_to_stderr() -> None:
    """Log to standard error when logging is not configured, as in ``dagster job launch``."""
    if not log.hasHandlers():
        log.addHandler(logging.StreamHandler())
        log.setLevel(logging.INFO)

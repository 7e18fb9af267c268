"""The workers of a campaign as processes: signals to them, their resources, their REST API."""

import os
import signal
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import requests

from tests.campaign.outcomes import Footprint
from tests.conformance.java_cluster import JavaDistributed
from tests.distributed_process import DistributedProcess

START_SECONDS = 240.0
_REST_SECONDS = 10.0
_ASK_SECONDS = 120.0
_ASK_AGAIN_SECONDS = 0.5
_LEASH = "child_process.py"


class Member:
    """A worker that is started, killed and started again under one address.

    Args:
        process: not started yet.
        place: its place in the group.
    """

    def __init__(self, process: DistributedProcess | JavaDistributed, place: int) -> None:
        self.process = process
        self.place = place
        self._away = True
        self._began = 0.0
        self.pids: list[int] = []

    @property
    def java(self) -> bool:
        """Return whether it is Java's."""
        return isinstance(self.process, JavaDistributed)

    @property
    def id(self) -> str:
        """Return its worker id in statuses."""
        return self.process.rest_url.partition("://")[2]

    @property
    def runs(self) -> bool:
        """Return whether it was started and has not ended."""
        return not self._away and self.process.exit_code is None

    @property
    def ended(self) -> bool:
        """Return whether it ended by itself."""
        return not self._away and self.process.exit_code is not None

    def start(self) -> None:
        """Start it, without waiting; its former process has ended."""
        self.process.start()
        self._began = time.monotonic()
        self._away = False
        self.pids.append(self.process.pid)

    def kill(self) -> None:
        """End it by SIGKILL."""
        if not self._away:
            self._away = True
            self.process.kill()

    def stop(self) -> None:
        """End it by SIGTERM."""
        if not self._away:
            self._away = True
            self.process.stop()

    def freeze(self, seconds: float, *, jvm: bool = False) -> None:
        """Stop it, or its JVM alone, by SIGSTOP for a while."""
        pid = self.jvm() if jvm else self.process.pid
        if pid is None:
            return
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)
            try:
                time.sleep(seconds)
            finally:
                os.kill(pid, signal.SIGCONT)

    def jvm(self) -> int | None:
        """Return the process id of its JVM: itself, or the one that it has started."""
        if self.java:
            return self.process.pid
        return next((one.pid for one in self.family() if one.name() == "java"), None)

    def family(self) -> list[psutil.Process]:
        """Return its processes, without those that hold a leash."""
        if not self.runs:
            return []
        with suppress(psutil.Error):
            root = psutil.Process(self.process.pid)
            return [root, *(one for one in root.children(recursive=True) if not holds_leash(one))]
        return []

    def footprint(self) -> Footprint | None:
        """Return its resources; none while it ends."""
        with suppress(psutil.Error):
            if not (family := self.family()):
                return None
            return Footprint(
                process=f"{self.place}:{self.process.pid}",
                age=round(time.monotonic() - self._began, 1),
                memory=sum(one.memory_info().rss for one in family),
                descriptors=sum(one.num_fds() for one in family),
                threads=sum(one.num_threads() for one in family),
            )
        return None


class Group:
    """Members that share connectors, asked through whichever of them answers.

    Args:
        members: none is started yet.
    """

    def __init__(self, members: Sequence[Member]) -> None:
        self.members = list(members)

    def start(self) -> None:
        """Start all and wait until each is ready."""
        for member in self.members:
            member.start()
        for member in self.members:
            member.process.wait_ready(START_SECONDS)

    def stop(self) -> None:
        """End all, side by side."""
        with ThreadPoolExecutor(max(1, len(self.members))) as threads:
            list(threads.map(Member.stop, self.members))

    def start_ended(self) -> int:
        """Start members again that ended by themselves, as a supervisor of services does; return their number."""
        ended = [member for member in self.members if member.ended]
        for member in ended:
            member.start()
        return len(ended)

    def start_missing(self) -> None:
        """Start all members that do not run."""
        for member in self.members:
            if not member.runs:
                member.start()

    def ask(self, method: str, target: str, body: Any = None) -> Any:
        """Send a request until one of the workers accepts it; return the document.

        Raises:
            TimeoutError: no worker accepted it in time; quotes the last answer.
        """
        deadline = time.monotonic() + _ASK_SECONDS
        last = "no worker runs"
        while time.monotonic() < deadline:
            for member in self._running():
                try:
                    answer = requests.request(
                        method, member.process.rest_url + target, json=body, timeout=_REST_SECONDS
                    )
                except requests.RequestException as error:
                    last = str(error)
                    continue
                if answer.ok:
                    return answer.json() if answer.content else None
                last = f"{answer.status_code} {answer.text[:500]}"
            time.sleep(_ASK_AGAIN_SECONDS)
        raise TimeoutError(f"{method} {target}: {last}")

    def parts(self) -> dict[str, list[dict[str, Any]]]:
        """Return state and worker of each connector and, after it, of its tasks; empty when no worker answers."""
        for member in self._running():
            with suppress(requests.RequestException, ValueError):
                url = f"{member.process.rest_url}/connectors?expand=status"
                answer = requests.get(url, timeout=_REST_SECONDS)
                if answer.ok:
                    found = {name: entry.get("status") for name, entry in answer.json().items()}
                    return {n: [status["connector"], *status["tasks"]] for n, status in found.items() if status}
        return {}

    def footprints(self) -> tuple[Footprint, ...]:
        """Return the resources of each."""
        return tuple(found for member in self.members if (found := member.footprint()))

    def _running(self) -> Iterator[Member]:
        return (member for member in self.members if member.runs)


def all_running(parts: dict[str, list[dict[str, Any]]], names: Sequence[str], workers: Sequence[str]) -> bool:
    """Return whether these connectors have a task at least, and they and all tasks are RUNNING on these workers."""
    return parts.keys() == set(names) and all(
        len(own) > 1 and all(part["state"] == "RUNNING" and part["worker_id"] in workers for part in own)
        for own in parts.values()
    )


def failed(parts: dict[str, list[dict[str, Any]]]) -> dict[str, int]:
    """Return the number of FAILED parts of each connector that has any."""
    counts = {name: sum(part["state"] == "FAILED" for part in own) for name, own in parts.items()}
    return {name: count for name, count in counts.items() if count}


def holds_leash(process: psutil.Process) -> bool:
    """Return whether a process only ends another one, see `connect_dagster.embedded.child_process`."""
    with suppress(psutil.Error):
        return any(word.endswith(_LEASH) for word in process.cmdline())
    return False


def orphans(mark: str, known: Sequence[int]) -> list[int]:
    """Return processes with an environment variable `mark` that descend from none of the known ones."""
    name, _, value = mark.partition("=")
    family = set(known)
    for pid in known:
        with suppress(psutil.Error):
            family |= {one.pid for one in psutil.Process(pid).children(recursive=True)}
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            marked = process.pid not in family and process.environ().get(name) == value
            if marked and process.status() != psutil.STATUS_ZOMBIE and not holds_leash(process):
                found.append(process.pid)
    return found


def temporary_entries(folder: Path, pattern: str = "*") -> list[Path]:
    """Return the entries of a folder that match a pattern; none of one that does not exist."""
    return list(folder.glob(pattern))

"""The workers of a campaign as processes: what is done to them, what they have, what their REST API says."""

import os
import signal
import time
from collections.abc import Iterator, Sequence
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
        self.away = True
        self._began = 0.0

    @property
    def java(self) -> bool:
        """Whether it is Java's."""
        return isinstance(self.process, JavaDistributed)

    @property
    def id(self) -> str:
        """Its worker id in statuses."""
        return self.process.rest_url.partition("://")[2]

    @property
    def ended(self) -> bool:
        """Whether it ended although nobody ended it."""
        return not self.away and self.process.exit_code is not None

    def start(self) -> None:
        """Start it, without waiting."""
        self.process.start()
        self._began = time.monotonic()
        self.away = False

    def kill(self) -> None:
        """End it by SIGKILL."""
        self.away = True
        self.process.kill()

    def stop(self) -> None:
        """End it by SIGTERM."""
        if not self.away:
            self.away = True
            self.process.stop()

    def freeze(self, seconds: float, *, jvm: bool = False) -> None:
        """Stop it, or its JVM alone, by SIGSTOP for a while."""
        pid = self.jvm() if jvm else self.process.pid
        if pid is None:
            return
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)
            time.sleep(seconds)
            os.kill(pid, signal.SIGCONT)

    def jvm(self) -> int | None:
        """The process id of the JVM: of its own, or of the one it has started."""
        if self.java:
            return self.process.pid
        return next((one.pid for one in self.family() if one.name() == "java"), None)

    def family(self) -> list[psutil.Process]:
        """Its processes, without those that hold a leash."""
        with suppress(psutil.Error):
            root = psutil.Process(self.process.pid)
            return [root, *(one for one in root.children(recursive=True) if not holds_leash(one))]
        return []

    def footprint(self) -> Footprint | None:
        """What it has; none while it ends."""
        with suppress(psutil.Error):
            family = self.family()
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
        """End all."""
        for member in self.members:
            member.stop()

    def start_ended(self) -> int:
        """Start those again that ended by themselves, as a supervisor of services does; answers how many."""
        ended = [member for member in self.members if member.ended]
        for member in ended:
            member.start()
        return len(ended)

    def ask(self, method: str, target: str, body: Any = None) -> Any:
        """Make a request until one of the workers accepts it; answers the document.

        Raises:
            TimeoutError: no worker accepted it in time; quotes the last answer.
        """
        deadline = time.monotonic() + _ASK_SECONDS
        last = "no worker runs"
        while time.monotonic() < deadline:
            for member in self._present():
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
        """State and worker of each connector and, after it, of its tasks; empty when nobody answers."""
        for member in self._present():
            with suppress(requests.RequestException, ValueError):
                url = f"{member.process.rest_url}/connectors?expand=status"
                answer = requests.get(url, timeout=_REST_SECONDS)
                if answer.ok:
                    found = {name: entry.get("status") for name, entry in answer.json().items()}
                    return {n: [status["connector"], *status["tasks"]] for n, status in found.items() if status}
        return {}

    def footprints(self) -> tuple[Footprint, ...]:
        """What each one has."""
        return tuple(found for member in self.members if (found := member.footprint()))

    def _present(self) -> Iterator[Member]:
        return (member for member in self.members if not member.away and not member.ended)


def all_running(parts: dict[str, list[dict[str, Any]]], names: Sequence[str], workers: Sequence[str]) -> bool:
    """Whether these connectors, each with a task at least, are RUNNING on these workers and all their tasks are."""
    return parts.keys() == set(names) and all(
        len(own) > 1 and all(part["state"] == "RUNNING" and part["worker_id"] in workers for part in own)
        for own in parts.values()
    )


def failed(parts: dict[str, list[dict[str, Any]]]) -> dict[str, int]:
    """How many of a connector and its tasks are FAILED, where any is."""
    counts = {name: sum(part["state"] == "FAILED" for part in own) for name, own in parts.items()}
    return {name: count for name, count in counts.items() if count}


def holds_leash(process: psutil.Process) -> bool:
    """Whether a process only ends another one, see `connect_dagster.embedded.child_process`."""
    with suppress(psutil.Error):
        return any(word.endswith(_LEASH) for word in process.cmdline())
    return False


def orphans(mark: str, known: Sequence[int]) -> list[int]:
    """Processes with an environment variable `mark` that descend from none of the known ones."""
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


def temporary_entries(folders: Sequence[Path], prefix: str = "") -> set[str]:
    """Paths of what lies directly in folders."""
    return {str(entry) for folder in folders if folder.is_dir() for entry in folder.glob(f"{prefix}*")}

"""Which fault comes when: drawn from a seed, each by its number alone, so that a campaign can go on anywhere."""

import random
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from enum import Enum, auto

ACT_LENGTH = 20
MOST_WORKERS = 3
_QUIET_SECONDS = (2.0, 8.0)


class Need(Enum):
    """What a kind of fault cannot do without."""

    FILE = auto()
    """A flow that reads a file."""
    JDBC = auto()
    """A flow that reads a database."""
    TWO_WORKERS = auto()
    """A worker that stays."""
    NETWORK = auto()
    """A worker behind a network that can be cut."""
    DISK = auto()
    """A small disk under the sink's file."""
    OURS = auto()
    """No worker of Java: it has nothing to do this to, or does not promise to survive it."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of fault.

    Attributes:
        name: on the command line and in tables.
        seconds: shortest and longest duration; zeros for what has none.
        needs: what it cannot do without.
    """

    name: str
    seconds: tuple[float, float] = (0.0, 0.0)
    needs: frozenset[Need] = field(default_factory=frozenset)


def _kind(name: str, least: float = 0.0, most: float = 0.0, *needs: Need) -> Kind:
    return Kind(name, (least, most), frozenset(needs))


KINDS = (
    _kind("worker-kill"),
    _kind("worker-stop", 0, 10),
    _kind("worker-freeze", 1, 20),
    _kind("jvm-kill", 0, 0, Need.OURS),
    _kind("jvm-freeze", 1, 20, Need.OURS),
    _kind("broker-kill", 0, 20),
    _kind("broker-restart", 0, 20),
    _kind("broker-freeze", 2, 30),
    _kind("all-kill", 0, 5),
    _kind("network-cut", 2, 30, Need.NETWORK),
    _kind("disk-full", 2, 10, Need.DISK, Need.FILE, Need.OURS),
    _kind("database-kill", 0, 10, Need.JDBC),
    _kind("topic-remade", 0, 40),
    _kind("topic-grown"),
    _kind("topic-truncated"),
    _kind("internal-topics-compacted", 3, 8),
    _kind("file-rotated", 0, 0, Need.FILE, Need.OURS),
    _kind("file-rotated-twice", 1, 4, Need.FILE, Need.OURS),
    _kind("file-truncated", 2, 2, Need.FILE, Need.OURS),
    _kind("file-rewritten", 0, 0, Need.FILE, Need.OURS),
    _kind("config-changed", 1, 4),
    _kind("config-changed-in-rebalance", 1, 4, Need.TWO_WORKERS),
    _kind("paused", 1, 15),
    _kind("restarted"),
    _kind("source-offsets-altered"),
    _kind("sink-offsets-altered"),
)
"""What a campaign does, see `tests.campaign.faults`."""


@dataclass(frozen=True, slots=True)
class Act:
    """Some faults in a row on the same workers.

    Attributes:
        first: number of its first fault.
        workers: how many the group has.
        mixed: whether one of them is Java's.
        flows: names of the flows that run.
        network: whether the first worker is behind a network.
    """

    first: int
    workers: int
    mixed: bool
    flows: tuple[str, ...]
    network: bool


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault.

    Attributes:
        number: its place in the campaign.
        kind: what is done, a name of `KINDS`.
        flow: the flow it is done to, where it is done to one.
        worker: the place in the group of the worker it is done to, where it is done to one.
        seconds: how long it lasts.
        quiet: seconds of work before it.
        chance: from 0 to 1, decides what else there is to decide.
    """

    number: int
    kind: str
    flow: str
    worker: int
    seconds: float
    quiet: float
    chance: float


class Schedule:
    """The faults of a campaign.

    Args:
        seed: of all draws.
        compared: whether all acts can be played by workers of Java too.
        flows: names of the flows that may run.
        kinds: names of the kinds of faults; all when empty.
        root: whether networks and small disks can be made.
    """

    def __init__(
        self,
        seed: int,
        *,
        compared: bool = False,
        flows: Collection[str] = ("file", "jdbc", "plugin"),
        kinds: Collection[str] = (),
        root: bool = True,
    ) -> None:
        self._seed = seed
        self._compared = compared
        self._flows = tuple(flows)
        self._kinds = [kind for kind in KINDS if not kinds or kind.name in kinds]
        self._root = root

    def act(self, number: int) -> Act:
        """The act that a fault belongs to."""
        first = number - number % ACT_LENGTH
        chance = random.Random(f"{self._seed} act {first}")
        workers = chance.randint(1, MOST_WORKERS)
        mixed = chance.random() < 0.3 and workers > 1 and not self._compared and "file" in self._flows
        network = chance.random() < 0.5 and self._root
        flows = ("file",) if mixed or self._compared else self._reachable(network)
        return Act(first, workers, mixed, flows, network)

    def fault(self, number: int) -> Fault:
        """One fault, whatever comes before it."""
        act = self.act(number)
        chance = random.Random(f"{self._seed} fault {number}")
        kind = chance.choice(self._possible(act))
        flows = self._flows_for(kind, act)
        return Fault(
            number=number,
            kind=kind.name,
            flow=chance.choice(flows),
            worker=0 if Need.NETWORK in kind.needs else chance.randrange(act.workers),
            seconds=round(chance.uniform(*kind.seconds), 1),
            quiet=round(chance.uniform(*_QUIET_SECONDS), 1),
            chance=round(chance.random(), 3),
        )

    def _reachable(self, network: bool) -> tuple[str, ...]:
        """The flows that a worker can serve; databases listen on this side of a network only."""
        left = tuple(flow for flow in self._flows if not network or flow != "jdbc")
        return left or self._flows

    def _possible(self, act: Act) -> list[Kind]:
        there = {
            Need.FILE: "file" in act.flows,
            Need.JDBC: "jdbc" in act.flows,
            Need.TWO_WORKERS: act.workers > 1,
            Need.NETWORK: act.network,
            Need.DISK: self._root,
            Need.OURS: not act.mixed and not self._compared,
        }
        found = [kind for kind in self._kinds if all(there[need] for need in kind.needs)]
        if not found:
            raise ValueError(f"none of the kinds {[kind.name for kind in self._kinds]} is possible in {act}")
        return found

    @staticmethod
    def _flows_for(kind: Kind, act: Act) -> tuple[str, ...]:
        asked = {Need.FILE: "file", Need.JDBC: "jdbc"}
        return tuple(asked[need] for need in kind.needs if need in asked) or act.flows


@dataclass(frozen=True, slots=True)
class Turn:
    """A fault that one side has to bear."""

    side: str
    number: int


def turns(count: int, sides: Collection[str]) -> Iterator[Turn]:
    """All turns of a campaign in order: each act is played by one side after the other."""
    for first in range(0, count, ACT_LENGTH):
        for side in sides:
            for number in range(first, min(first + ACT_LENGTH, count)):
                yield Turn(side, number)

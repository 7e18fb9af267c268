"""The faults of a campaign, drawn from a seed: each by its number alone, so that a campaign continues anywhere."""

import random
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from enum import Enum, auto

MOST_WORKERS = 3
_QUIET_SECONDS = (2.0, 8.0)
_MOST_DRAWS = 100


class Need(Enum):
    """Requirement of a kind of fault."""

    FILE = auto()
    """A flow that reads a file."""
    JDBC = auto()
    """A flow that reads a database."""
    TWO_WORKERS = auto()
    """A second worker, which stays."""
    NETWORK = auto()
    """A worker behind a network that can be cut."""
    DISK = auto()
    """A small disk under the sink's file."""
    OURS = auto()
    """No worker of Java: it has no such part, or loses records by design."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of fault.

    Attributes:
        name: on the command line and in tables.
        seconds: shortest and longest duration; zeros for a fault without one.
        needs: its requirements.
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
    # A sink of Java continues at the offset of the deleted topic.
    _kind("topic-remade", 0, 40, Need.OURS),
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
"""All kinds; `tests.campaign.faults` plays them."""


@dataclass(frozen=True, slots=True)
class Act:
    """Consecutive faults on the same workers.

    Attributes:
        first: number of its first fault.
        workers: size of the group.
        mixed: whether one of them is Java's.
        flows: names of the flows that run.
        network: whether the first worker is behind a network.
    """

    first: int
    workers: int
    mixed: bool
    flows: tuple[str, ...]
    network: bool

    @property
    def about(self) -> str:
        """Return its workers and flows, for tables."""
        extra = f"{'+java' if self.mixed else ''}{'+network' if self.network else ''}"
        return f"{self.workers}{extra} {','.join(self.flows)}"

    def __str__(self) -> str:
        return f"act of fault {self.first}: {self.about}"


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault.

    Attributes:
        number: its place in the campaign.
        kind: a name of `KINDS`.
        flow: the flow that it strikes, for kinds that strike one.
        worker: the place in the group of the worker that it strikes, for kinds that strike one.
        seconds: its duration.
        quiet: seconds of undisturbed work before it.
        chance: from 0 to 1, decides the rest.
    """

    number: int
    kind: str
    flow: str
    worker: int
    seconds: float
    quiet: float
    chance: float


@dataclass(frozen=True, slots=True)
class Schedule:
    """The faults of a campaign.

    Attributes:
        seed: of all draws.
        compared: whether Java's workers play all acts too.
        flows: names of the flows that may run.
        kinds: names of the kinds of faults; all when empty.
        root: whether networks and small disks can be made.
        mixed: whether the groups of all acts have a worker of Java's; by default those of some.
        workers: size of all groups; by default of one to three.
        act_length: number of faults of an act.
    """

    seed: int
    compared: bool = False
    flows: tuple[str, ...] = ("file", "jdbc", "plugin")
    kinds: tuple[str, ...] = ()
    root: bool = True
    mixed: bool | None = None
    workers: int | None = None
    act_length: int = 20

    def act(self, number: int) -> Act:
        """Return the act of a fault.

        Raises:
            ValueError: no act can have a fault of the chosen kinds.
        """
        first = number - number % self.act_length
        for draw in range(_MOST_DRAWS):
            act = self._drawn(first, random.Random(f"{self.seed} act {first} {draw}"))
            if self._possible(act):
                return act
        raise ValueError(f"no act can have a fault of the kinds {list(self.kinds)}")

    def _drawn(self, first: int, chance: random.Random) -> Act:
        drawn, by_chance, far = chance.randint(1, MOST_WORKERS), chance.random() < 0.3, chance.random() < 0.5
        workers = self.workers or drawn
        mixed = by_chance and workers > 1 if self.mixed is None else self.mixed
        mixed = mixed and not self.compared and "file" in self.flows
        workers = max(workers, 2) if mixed else workers
        flows = ("file",) if mixed or self.compared else self.flows
        # Databases listen on this side of a network only.
        near = tuple(flow for flow in flows if flow != "jdbc")
        network = far and self.root and bool(near)
        return Act(first, workers, mixed, near if network else flows, network)

    def fault(self, number: int) -> Fault:
        """Return one fault; those before it have no influence."""
        act = self.act(number)
        chance = random.Random(f"{self.seed} fault {number}")
        kind = self._kind(act, number - act.first)
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

    def _kind(self, act: Act, place: int) -> Kind:
        """Return the kind of an act's fault: all come in some order before one comes again."""
        possible = self._possible(act)
        again, following = divmod(place, len(possible))
        return random.Random(f"{self.seed} kinds {act.first} {again}").sample(possible, len(possible))[following]

    def _possible(self, act: Act) -> list[Kind]:
        there = {
            Need.FILE: "file" in act.flows,
            Need.JDBC: "jdbc" in act.flows,
            Need.TWO_WORKERS: act.workers > 1,
            Need.NETWORK: act.network,
            Need.DISK: self.root,
            Need.OURS: not act.mixed and not self.compared,
        }
        chosen = (kind for kind in KINDS if not self.kinds or kind.name in self.kinds)
        return [kind for kind in chosen if all(there[need] for need in kind.needs)]

    @staticmethod
    def _flows_for(kind: Kind, act: Act) -> tuple[str, ...]:
        asked = {Need.FILE: "file", Need.JDBC: "jdbc"}
        return tuple(asked[need] for need in kind.needs if need in asked) or act.flows


@dataclass(frozen=True, slots=True)
class Turn:
    """A fault that one side has to bear."""

    side: str
    number: int


def turns(count: int, sides: Collection[str], act_length: int) -> Iterator[Turn]:
    """Yield all turns of a campaign in order: one side after the other plays each act."""
    for first in range(0, count, act_length):
        for side in sides:
            for number in range(first, min(first + act_length, count)):
                yield Turn(side, number)

"""What is done to a worker while its three topics are watched.

Connector, topic and file names are the same for both workers, since they decide about keys and partitions.
"""

from dataclasses import dataclass

from tests.conformance.distributed_script import answers
from tests.conformance.rest_script import Step, create, holds, shows, sink, source

STATUS = "GET /connectors/c/status"
RUNNING = Step("running", STATUS, until=shows("RUNNING", "RUNNING"))
PAUSED = Step("paused", STATUS, until=shows("PAUSED", "PAUSED"))
STOPPED = Step("stopped", STATUS, until=shows("STOPPED"))
FAILED = Step("failed", STATUS, until=shows("RUNNING", "FAILED"))
READ = Step("read", "GET /connectors/c/offsets", until=holds("position"))
SUNK = Step("sunk", "GET /connectors/c/topics", until=holds("{sink_topic}"))
CREATE = Step("create", "PUT /connectors/c/config", source())
STOP = Step("stop", "PUT /connectors/c/stop")
DELETE = Step("delete", "DELETE /connectors/c")
GONE = Step("gone", STATUS, until=answers(404))


@dataclass(frozen=True, slots=True)
class Scenario:
    """Calls whose records are compared, after calls that lead there; the connector `c` is deleted afterwards."""

    before: tuple[Step, ...]
    calls: tuple[Step, ...]


def running(*calls: Step) -> Scenario:
    """Calls for a source that runs and has read its file."""
    return Scenario((CREATE, RUNNING, READ), calls)


def stopped(*calls: Step) -> Scenario:
    """Calls for a source that has read its file and was stopped."""
    return Scenario((CREATE, RUNNING, READ, STOP, STOPPED), calls)


def _sink(group: str, **more: str) -> dict[str, object]:
    return sink(**{"topics": "{sink_topic}", "consumer.override.group.id": f"{{prefix}}{group}", **more})


def _offsets(*pairs: tuple[object, object]) -> dict[str, object]:
    return {"offsets": [{"partition": {"filename": name}, "offset": offset} for name, offset in pairs]}


ALTER = Step(
    "alter",
    "PATCH /connectors/c/offsets",
    _offsets(("{source}", {"position": 14}), ("/other", {"position": 3}), ('/한글 "é"/\\', {"position": 10**12})),
)
FAILING = Step("create failing", "PUT /connectors/c/config", _sink("failing", topics="{bad_topic}"))

SCENARIOS: dict[str, Scenario] = {
    "create": Scenario((), (CREATE, RUNNING, READ)),
    "create, odd values": Scenario(
        (),
        (Step("create", "PUT /connectors/c/config", source(n=1.5, yes=True, u='한글 é\n"\\/<>\u2028')), RUNNING, READ),
    ),
    "create paused": Scenario(
        (),
        (
            Step("create", "POST /connectors", create("c", source(), initial_state="PAUSED")),
            Step("paused", STATUS, until=shows("PAUSED")),
        ),
    ),
    "create stopped": Scenario(
        (), (Step("create", "POST /connectors", create("c", source(), initial_state="STOPPED")), STOPPED)
    ),
    "create running": Scenario(
        (), (Step("create", "POST /connectors", create("c", source(), initial_state="RUNNING")), RUNNING, READ)
    ),
    "refuse": Scenario((), (Step("create", "PUT /connectors/c/config", source(topic="")),)),
    "reconfigure": running(Step("put", "PUT /connectors/c/config", source(more="x")), RUNNING),
    "reconfigure with the same": running(Step("put", "PUT /connectors/c/config", source()), RUNNING),
    "patch": running(Step("patch", "PATCH /connectors/c/config", {"a": "1", "tasks.max": None}), RUNNING),
    "reconfigure while stopped": stopped(Step("put", "PUT /connectors/c/config", source(more="x")), STOPPED),
    "pause": running(Step("pause", "PUT /connectors/c/pause"), PAUSED),
    "pause twice": running(*(Step("pause", "PUT /connectors/c/pause"), PAUSED) * 2),
    "resume": Scenario(
        (CREATE, RUNNING, READ, Step("pause", "PUT /connectors/c/pause"), PAUSED),
        (Step("resume", "PUT /connectors/c/resume"), RUNNING),
    ),
    "resume what runs": running(Step("resume", "PUT /connectors/c/resume"), RUNNING),
    "stop": running(STOP, STOPPED),
    "stop again": stopped(STOP, STOPPED),
    "resume from stopped": stopped(Step("resume", "PUT /connectors/c/resume"), RUNNING),
    "restart": running(Step("restart", "POST /connectors/c/restart"), RUNNING),
    "restart with tasks": running(Step("restart", "POST /connectors/c/restart?includeTasks=true"), RUNNING),
    "restart what failed, nothing did": running(
        Step("restart", "POST /connectors/c/restart?includeTasks=true&onlyFailed=true"), RUNNING
    ),
    "restart a connector if it failed": running(Step("restart", "POST /connectors/c/restart?onlyFailed=true"), RUNNING),
    "restart a task": running(Step("restart", "POST /connectors/c/tasks/0/restart"), RUNNING),
    "restart while paused": Scenario(
        (CREATE, RUNNING, READ, Step("pause", "PUT /connectors/c/pause"), PAUSED),
        (Step("restart", "POST /connectors/c/restart?includeTasks=true"), PAUSED),
    ),
    "restart while stopped": stopped(Step("restart", "POST /connectors/c/restart?includeTasks=true"), STOPPED),
    "fail": Scenario((), (FAILING, FAILED)),
    "restart what failed": Scenario(
        (FAILING, FAILED), (Step("restart", "POST /connectors/c/restart?includeTasks=true&onlyFailed=true"), FAILED)
    ),
    "alter offsets": stopped(ALTER),
    "alter offsets to null": stopped(ALTER, Step("null", "PATCH /connectors/c/offsets", _offsets(("/other", None)))),
    "alter offsets, and go on": stopped(ALTER, Step("resume", "PUT /connectors/c/resume"), RUNNING, READ),
    "reset offsets": Scenario(
        (CREATE, RUNNING, READ, STOP, STOPPED, ALTER), (Step("reset", "DELETE /connectors/c/offsets"),)
    ),
    "refuse to alter offsets": running(ALTER, Step("reset", "DELETE /connectors/c/offsets")),
    "reset topics": running(Step("reset", "PUT /connectors/c/topics/reset")),
    "log level": Scenario(
        (),
        (
            Step("level", "PUT /admin/loggers/a.b?scope=cluster", {"level": "warn"}),
            Step("set", "GET /admin/loggers/a.b"),
        ),
    ),
    "log level of this worker": Scenario((), (Step("level", "PUT /admin/loggers/a.c", {"level": "WARN"}),)),
    "delete": running(DELETE, GONE),
    "delete what is stopped": stopped(DELETE, GONE),
    "create again": Scenario((CREATE, RUNNING, READ, DELETE, GONE), (CREATE, RUNNING)),
    "sink": Scenario((), (Step("create", "PUT /connectors/c/config", _sink("one")), RUNNING, SUNK)),
    "sink, from two tasks to one": Scenario(
        (
            Step("create", "PUT /connectors/c/config", _sink("two", **{"tasks.max": "2"})),
            Step("running", STATUS, until=shows("RUNNING", "RUNNING", "RUNNING")),
            SUNK,
        ),
        (Step("put", "PUT /connectors/c/config", _sink("two", **{"tasks.max": "1"})), RUNNING),
    ),
    "sink becomes source": Scenario(
        (Step("create", "PUT /connectors/c/config", _sink("three")), RUNNING, SUNK), (CREATE, RUNNING, READ)
    ),
}

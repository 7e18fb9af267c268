"""Kafka's incremental assignor in a process of its own: decides rounds that ours decided."""

import json
import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from connect_dagster.embedded.jars import resolve
from connect_dagster.embedded.java import find_java
from connect_dagster.protocol.states import TaskId
from connect_dagster.protocol.work import Work
from tests.rebalancing_group import Round

_PROGRAM = Path(__file__).with_name("AssignorInJava.java")
_CLASS = "org.apache.kafka.connect.runtime.distributed.AssignorInJava"


@dataclass(frozen=True, slots=True)
class JavaDecision:
    """What Java decided in a round, by member id; revoked in no order that means anything."""

    delay_ms: int
    assigned: Mapping[str, Work]
    revoked: Mapping[str, Work]
    allocations: Mapping[str, Work]


def decide(scenarios: Sequence[tuple[int, Sequence[Round]]]) -> list[list[JavaDecision]]:
    """Have Java decide the rounds of each scenario, which is a longest delay and rounds, with an assignor for each."""
    java, jars = str(find_java()), [str(jar) for jar in resolve("java-connect")]
    lines = [
        json.dumps({"max_delay": delay, "rounds": [_asked(each) for each in rounds]}) for delay, rounds in scenarios
    ]
    with tempfile.TemporaryDirectory() as classes:
        # Compiled first: the launcher of source files loads them apart from the package whose parts they use.
        compiler = [java, "-m", "jdk.compiler/com.sun.tools.javac.Main"]
        subprocess.run([*compiler, "-cp", os.pathsep.join(jars), "-d", classes, str(_PROGRAM)], check=True, timeout=120)
        done = subprocess.run(
            [java, "-cp", os.pathsep.join([classes, *jars]), _CLASS],
            input="\n".join(lines).encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=120,
            check=True,
        )
    return [[_decision(each) for each in json.loads(line)] for line in done.stdout.decode().splitlines()]


def _asked(round: Round) -> dict[str, Any]:
    tasks = dict.fromkeys(round.configured.connectors, 0)
    for task in round.configured.tasks:
        tasks[task.connector] += 1
    return {
        "now": round.now_ms,
        "generation": round.generation,
        "last_completed_generation": round.last_completed_generation,
        "connectors": tasks,
        "allocations": {
            member: [work.connectors, [(task.connector, task.task) for task in work.tasks]]
            for member, work in round.allocations.items()
        },
    }


def _decision(answer: Mapping[str, Any]) -> JavaDecision:
    return JavaDecision(
        answer["delay"],
        **{
            part: {member: _work(work) for member, work in answer[part].items()}
            for part in ("assigned", "revoked", "allocations")
        },
    )


def _work(answer: Sequence[Sequence[Any]]) -> Work:
    connectors, tasks = answer
    return Work(tuple(connectors), tuple(TaskId(*task) for task in tasks))

"""What a worker of a group refuses to start with: the seeds' mistakes, and others that are easily made."""

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from connect_dagster.cli.worker.process import WORKER_OPTIONS
from tests.conftest import Broker
from tests.distributed_process import DistributedProcess, group_properties

SECONDS = 60
STOPPING = "Stopping due to error: "
UNCAUGHT = "Uncaught exception in herder work thread, exiting: "
CONFIG_ERROR = "org.apache.kafka.common.config.ConfigException: "
EXPLAINED = f"The options are explained in {WORKER_OPTIONS}"
CONNECT_ERROR = "org.apache.kafka.connect.errors.ConnectException: "


def ended(workers: Mapping[str, DistributedProcess]) -> dict[str, tuple[int, str]]:
    """Exit code and error lines of workers that were started together and end by themselves."""
    for worker in workers.values():
        worker.start()
    codes = {name: worker.wait_exit(SECONDS * 2) for name, worker in workers.items()}
    return {name: (code, errors(workers[name])) for name, code in codes.items()}


def errors(worker: DistributedProcess) -> str:
    """What it logged as an error, without time and place."""
    lines = [line.partition("] ERROR ")[2] for line in worker.log().splitlines() if "] ERROR " in line]
    assert "Traceback" not in worker.log()
    return "\n".join(line.rpartition(" (")[0] for line in lines)


@pytest.mark.parametrize("words", [[], ["worker.properties", "--help"]])
def test_s2_01_without_a_worker_file_the_usage_is_told(words: list[str]) -> None:
    ran = subprocess.run(
        [DistributedProcess.command, *words], capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert ran.returncode == 1
    assert "Usage: ConnectDistributed worker.properties (" in ran.stdout


@pytest.mark.nightly
def test_s2_03_what_only_the_seeds_call_a_default_is_required(
    broker: Broker, topic_prefix: str, tmp_path: Path
) -> None:
    props = group_properties(broker.bootstrap_servers, topic_prefix)
    workers = {
        name: DistributedProcess({key: value for key, value in props.items() if key != name}, tmp_path / name)
        for name in ("group.id", "config.storage.topic", "offset.storage.topic", "status.storage.topic")
    }
    missing = f'{STOPPING}{CONFIG_ERROR}Missing required configuration "{{}}" which has no default value.'
    text = f"{missing}\n{EXPLAINED}"
    assert ended(workers) == {name: (2, text.format(name)) for name in workers}


def test_settings_that_cannot_work_are_told_before_anything_starts(
    broker: Broker, topic_prefix: str, tmp_path: Path
) -> None:
    wrong = {
        "heartbeat.interval.ms": ("10000", "Value must be lower than session.timeout.ms, which is 10000"),
        "exactly.once.source.support": (
            "maybe",
            "String must be one of (case insensitive): DISABLED, ENABLED, PREPARING",
        ),
    }
    props = group_properties(broker.bootstrap_servers, topic_prefix)
    workers = {name: DistributedProcess({**props, name: value}, tmp_path / name) for name, (value, _) in wrong.items()}
    assert ended(workers) == {
        name: (2, f"{STOPPING}{CONFIG_ERROR}Invalid value {value} for configuration {name}: {reason}\n{EXPLAINED}")
        for name, (value, reason) in wrong.items()
    }


@dataclass(frozen=True, slots=True)
class Refused:
    """Workers that the brokers, or what is on them, kept from starting: exit codes and errors; names of topics."""

    found: Mapping[str, tuple[int, str]]
    split: str
    forgetful: str
    unmade: str


@pytest.fixture(scope="module")
def refused(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Refused:
    prefix, folder = f"refused-{uuid4().hex[:8]}-", tmp_path_factory.mktemp("refused")
    split, forgetful, unmade = (f"{prefix}{name}" for name in ("split", "forgetful", "unmade"))
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    made = admin.create_topics(
        [
            NewTopic(split, 2, 1, config={"cleanup.policy": "compact"}),
            NewTopic(forgetful, 25, 1, config={"cleanup.policy": "delete"}),
        ]
    )
    for future in made.values():
        future.result(SECONDS)
    props = group_properties(broker.bootstrap_servers, prefix)
    wrong = {
        "split": {"config.storage.topic": split},
        "forgetful": {"offset.storage.topic": forgetful},
        "unmade": {
            "config.storage.topic": unmade,
            "config.storage.replication.factor": "3",
            "default.api.timeout.ms": "2000",
        },
        "session": {"session.timeout.ms": "3600000"},
    }
    workers = {name: DistributedProcess({**props, **more}, folder / name) for name, more in wrong.items()}
    return Refused(ended(workers), split, forgetful, unmade)


@pytest.mark.nightly
def test_s2_04_a_config_topic_with_two_partitions(refused: Refused) -> None:
    assert refused.found["split"] == (
        1,
        f"{UNCAUGHT}{CONFIG_ERROR}Topic '{refused.split}' supplied via the 'config.storage.topic' property is required "
        "to have a single partition in order to guarantee consistency of connector configurations, but found "
        "2 partitions.",
    )


@pytest.mark.nightly
def test_s2_04_an_offset_topic_that_forgets(refused: Refused) -> None:
    code, text = refused.found["forgetful"]
    assert code == 1
    assert text.startswith(
        f"{UNCAUGHT}{CONFIG_ERROR}Topic '{refused.forgetful}' supplied via the 'offset.storage.topic' property is "
        "required to have 'cleanup.policy=compact' to guarantee consistency and durability of source connector "
        "offsets, but found the topic currently has 'cleanup.policy=delete'."
    )


@pytest.mark.nightly
def test_more_replicas_than_brokers(refused: Refused) -> None:
    code, text = refused.found["unmade"]
    assert code == 1
    assert text.startswith(
        f"{UNCAUGHT}{CONNECT_ERROR}Error while attempting to create/find topic(s) '{refused.unmade}': "
        "Unable to replicate the partition 3 time(s)"
    )


def test_a_session_that_the_brokers_do_not_grant(refused: Refused) -> None:
    code, text = refused.found["session"]
    assert code == 1
    assert text.splitlines()[-1] == (
        f"{UNCAUGHT}{CONFIG_ERROR}Invalid value 3600000 for configuration session.timeout.ms: the brokers only allow "
        "group.min.session.timeout.ms to group.max.session.timeout.ms of theirs"
    )

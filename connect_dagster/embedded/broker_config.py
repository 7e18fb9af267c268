"""The `server.properties` and the JVM options of an embedded broker: one KRaft node, broker and controller.

Pure: values in, text out.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from connect_dagster.embedded.ports import HOST

# One node: every replica is this one. A group forms at once, and its first use creates few partitions.
_SINGLE_NODE = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "5",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "5",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "share.coordinator.state.topic.num.partitions": "5",
    # After a crash the controller refuses the broker until its former session has run out (9 s by default).
    "broker.session.timeout.ms": "2000",
    "broker.heartbeat.interval.ms": "500",
    "group.initial.rebalance.delay.ms": "0",
    "auto.create.topics.enable": "true",
}

# The second compiler and the bigger collectors pay after minutes; this broker is to be up in two seconds.
FAST_START = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")

_ALWAYS = (
    "-Xshare:auto",
    "-XX:-UsePerfData",
    "-Djava.awt.headless=true",
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd HH:mm:ss,SSS",
)


@dataclass(frozen=True, slots=True)
class Listener:
    """A listener in addition to the plain one.

    Attributes:
        protocol: ``SSL``, ``SASL_PLAINTEXT`` or ``SASL_SSL``; settings under ``listener.name.<name>.`` configure it.
        port: on this machine.
    """

    protocol: str
    port: int


_NO_LISTENERS: Mapping[str, Listener] = {}


def server_properties(
    data: Path,
    port: int,
    controller_port: int,
    settings: Mapping[str, str],
    more: Mapping[str, Listener] = _NO_LISTENERS,
) -> str:
    """Return the text of `server.properties`.

    Args:
        data: where the log segments and the metadata go.
        port: of the clients' listener.
        controller_port: of the controller's listener.
        settings: broker properties that go before ours.
        more: listeners in addition to the plain one of clients, by name.
    """
    clients = ",".join(f"{name}://{HOST}:{one.port}" for name, one in {"PLAINTEXT": Listener("", port), **more}.items())
    protocols = {"PLAINTEXT": "PLAINTEXT", "CONTROLLER": "PLAINTEXT"} | {n: one.protocol for n, one in more.items()}
    listeners = {
        "listeners": f"{clients},CONTROLLER://{HOST}:{controller_port}",
        "advertised.listeners": clients,
        "listener.security.protocol.map": ",".join(f"{name}:{protocol}" for name, protocol in protocols.items()),
        # Static voters: a data directory may come up again on other ports.
        "controller.quorum.voters": f"1@{HOST}:{controller_port}",
        "log.dirs": str(data),
    }
    return "".join(f"{key}={value}\n" for key, value in (_SINGLE_NODE | listeners | dict(settings)).items())


def jvm_options(heap: str, extra: tuple[str, ...]) -> list[str]:
    """Return the options between `java` and the class path; `heap` as in `-Xmx`, such as `1g`."""
    return [f"-Xmx{heap}", *_ALWAYS, *extra]

"""Workers, their group and all their clients on brokers that take tickets of Kerberos only."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.distributed_process import DistributedProcess, group_properties
from tests.integration.kafka.test_kerberos_logins import TicketBroker, ticket_broker
from tests.integration.worker.secured_broker import for_all
from tests.integration.worker.test_oauth_brokers import STRINGS, add, find_the_sinks_group, lines

pytestmark = pytest.mark.nightly

# More than a consumer fetches itself: Spark reads them, by Java's client.
LINES = 2_000
SECONDS = 240


@pytest.fixture(scope="module")
def tickets(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TicketBroker]:
    with ticket_broker(tmp_path_factory.mktemp("tickets")) as made:
        made.realm.add("connector")
        made.realm.add("short", "30 seconds")
        yield made


@pytest.fixture(autouse=True)
def _realms(tickets: TicketBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    """As Kafka's scripts take it; without it Java would read ``/etc/krb5.conf``."""
    monkeypatch.setenv("KAFKA_OPTS", " ".join(tickets.realm.jvm_options))


@pytest.mark.timeout(900)
def test_a_worker_its_group_and_all_its_clients_log_in(
    tickets: TicketBroker, tmp_path: Path, topic_prefix: str
) -> None:
    topic = f"{topic_prefix}t"
    props = group_properties(tickets.servers, topic_prefix) | STRINGS | for_all(tickets.realm.login("short"))
    source, sink = tmp_path / "in.txt", tmp_path / "out.txt"
    source.write_text("".join(f"line {number}\n" for number in range(LINES)))
    with DistributedProcess(props, tmp_path / "worker") as worker:
        override = {f"producer.override.{k}": v for k, v in tickets.realm.login("connector").items()}
        add(worker, "source", connector_class="FileStreamSource", topic=topic, file=str(source), **override)
        worker.wait_states("source", "RUNNING", "RUNNING", timeout=SECONDS)
        add(worker, "sink", connector_class="FileStreamSink", topics=topic, file=str(sink))
        worker.wait_until(lambda: lines(sink) == LINES, "write all lines", SECONDS)
        find_the_sinks_group(worker, tickets.servers, tickets.realm.login("connect"))
        logins = tickets.broker.log_file.read_text().count("authenticationID=short@")
        worker.wait_until(
            lambda: tickets.broker.log_file.read_text().count("authenticationID=short@") > logins + 30,
            "log in again, with new tickets",
            SECONDS,
        )
        with source.open("a") as more:
            more.write("later\n")
        worker.wait_until(lambda: lines(sink) == LINES + 1, "write the line after its tickets have ended", SECONDS)
        for name in ("source", "sink", "checkpoint"):
            worker.wait_states(name, "RUNNING", "RUNNING")
        log = worker.log()
    assert "has no effect" not in log
    assert "one by one" not in log, "columns are sent with this login, too"
    broker = tickets.broker.log_file.read_text()
    assert all(f"authenticationID={name}@" in broker for name in ("short", "connector", "connect"))


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("options", "settings", "text"),
    [
        ({"keyTab": "/no/file"}, {}, "The key table cannot be read: No such file or directory"),
        ({}, {"sasl.kerberos.service.name": "other"}, "must be the first part of the brokers' principals"),
    ],
)
def test_a_wrong_login_is_one_clear_error(
    tickets: TicketBroker,
    tmp_path: Path,
    topic_prefix: str,
    options: dict[str, str],
    settings: dict[str, str],
    text: str,
) -> None:
    login = for_all(tickets.realm.login("connect", **options) | settings)
    worker = DistributedProcess(group_properties(tickets.servers, topic_prefix) | STRINGS | login, tmp_path / "worker")
    worker.start()
    assert worker.wait_exit(SECONDS) != 0
    errors = [line for line in worker.log().splitlines() if " ERROR " in line]
    assert len(errors) == 1
    assert text in errors[0]
    assert "connect@EXAMPLE.TEST with the key table" in errors[0]

"""Two workers of a group that ask for identities: forwarding carries users, and their own requests are signed."""

from base64 import b64encode
from functools import partial
from pathlib import Path

import pytest

from connect_dagster.client.access import Access
from connect_dagster.client.rest_client import KafkaConnectClient, KafkaConnectError
from connect_dagster.embedded.ports import HOST, free_port
from tests.conftest import Broker
from tests.distributed_process import DistributedProcess, group_properties
from tests.integration.cluster.group_of_workers import await_true
from tests.rest_calls import Answer, call
from tests.unit.rest.certificates import Identity
from tests.unit.rest.tokens import AUDIENCE, Issuer

pytestmark = [pytest.mark.timeout(400), pytest.mark.nightly]


def test_both_workers_take_the_same_identities(broker: Broker, topic_prefix: str, tmp_path: Path) -> None:
    issuer = Issuer.make()
    (tmp_path / "users").write_text("reader=r1\noperator=o1\n")
    (tmp_path / "jwks").write_text(issuer.key_set)
    (tmp_path / "in.txt").write_text("a line\n")
    authority = Identity.authority()
    (tmp_path / "ca.pem").write_text(authority.certificate_pem)
    for name in ("worker", "deployer", "visitor"):
        one = authority.vouch_for(name)
        (tmp_path / f"{name}.pem").write_text(one.key_pem() + one.certificate_pem)
    props = group_properties(broker.bootstrap_servers, topic_prefix) | {
        "rest.extension.classes": "RoleRestExtension",
        "rest.roles.read": "User:reader",
        "rest.roles.operate": "User:operator",
        "rest.roles.change": "User:changer;User:CN=deployer;User:CN=worker",
        "rest.roles.users.file": f"{tmp_path}/users",
        "rest.roles.oauthbearer.jwks.file": f"{tmp_path}/jwks",
        "rest.roles.oauthbearer.expected.audience": AUDIENCE,
        "rest.advertised.listener": "https",
        "listeners.https.ssl.keystore.location": f"{tmp_path}/worker.pem",
        "listeners.https.ssl.truststore.location": f"{tmp_path}/ca.pem",
        "listeners.https.ssl.client.auth": "requested",
    }
    reader, operator = (f"Basic {b64encode(user).decode()}" for user in (b"reader:r1", b"operator:o1"))
    changer, expired = (f"Bearer {issuer.token('changer', seconds)}" for seconds in (600, -60))
    listeners = [(f"http://{HOST}:{free_port()}", f"https://{HOST}:{free_port()}") for _ in range(2)]
    workers = [
        DistributedProcess({**props, "listeners": ",".join(pair)}, tmp_path / str(number))
        for number, pair in enumerate(listeners)
    ]
    urls = [plain for plain, _ in listeners]

    def ask(url: str, authorization: str, method: str, target: str, body: object = None) -> Answer:
        answer = Answer(409, {}, b"")

        def settled() -> bool:
            nonlocal answer
            answer = call(url, method, target, body, {"Authorization": authorization})
            return answer.status != 409

        await_true(settled, lambda: answer.body, 120)
        return answer

    def runs(name: str) -> bool:
        answer = ask(urls[0], reader, "GET", f"/connectors/{name}/status")
        parts = [answer.json["connector"], *answer.json["tasks"]] if answer.status == 200 else []
        return len(parts) == 2 and all(part["state"] == "RUNNING" for part in parts)

    config = {"connector.class": "FileStreamSource", "file": f"{tmp_path}/in.txt", "topic": f"{topic_prefix}t"}
    try:
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.wait_until(partial(_is_healthy, worker.rest_url, reader), "be healthy", 200)
        # One of the two forwards to the other; each owns one connector, so one sends its tasks' configurations.
        for number, url in enumerate(urls):
            name = f"{topic_prefix}{number}"
            assert ask(url, operator, "PUT", f"/connectors/{name}/config", config).status == 403
            assert (
                ask(url, expired, "PUT", f"/connectors/{name}/config", config).message == "The bearer token has expired"
            )
            assert ask(url, changer, "PUT", f"/connectors/{name}/config", config).status == 201
        for number, url in enumerate(urls):
            name = f"{topic_prefix}{number}"
            await_true(partial(runs, name), partial(str, name), 200)
            restart = f"/connectors/{name}/restart?includeTasks=true"
            assert ask(url, reader, "POST", restart).status == 403
            assert ask(url, operator, "POST", restart).status == 202
            assert ask(url, "", "GET", "/connectors").status == 401
            # Workers sign by default: a request of another is refused by its signature, not by a role.
            assert ask(url, "", "POST", f"/connectors/{name}/tasks", []).status == 400
            # By the follower it reaches the leader with the certificate of a worker.
            secure, ca_file = listeners[number][1], f"{tmp_path}/ca.pem"
            deployer, visitor = (
                KafkaConnectClient(secure, access=Access(ca_file=ca_file, cert_file=f"{tmp_path}/{one}.pem"))
                for one in ("deployer", "visitor")
            )
            with pytest.raises(KafkaConnectError, match="403: User:CN=visitor has no role"):
                visitor.delete(name)
            deployer.delete(name)
    finally:
        for worker in workers:
            worker.stop()


def _is_healthy(url: str, authorization: str) -> bool:
    try:
        return call(url, "GET", "/health", headers={"Authorization": authorization}).status == 200
    except OSError:
        return False

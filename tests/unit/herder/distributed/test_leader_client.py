"""Task configurations on their way to the leader of a group."""

from collections.abc import Mapping
from typing import Any

import pytest

from connect_dagster.client.inter_worker import Answer, RestClient
from connect_dagster.errors import ConnectError
from connect_dagster.herder.distributed.leader_client import LeaderClient


class Rest(RestClient):
    """Keeps the requests."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, str, bytes | None]] = []

    def request(
        self, url: str, method: str, headers: Mapping[str, str] = {}, body: bytes | None = None, *signature: Any
    ) -> Answer:
        self.sent.append((url, method, body))
        return Answer(200)


@pytest.mark.parametrize(
    ("namespace", "path"), [("", "connectors/a%20b%2Fc/tasks"), ("us/eu/", "us/eu/connectors/a%20b%2Fc/tasks")]
)
def test_configurations_are_sent_to_the_leader(namespace: str, path: str) -> None:
    rest = Rest()
    LeaderClient(rest, "HmacSHA256", namespace).put_task_configs("https://h:8083/", "a b/c", [{"x": "1"}], None)
    assert rest.sent == [(f"https://h:8083/{path}", "POST", b'[{"x": "1"}]')]


@pytest.mark.parametrize(
    ("rest", "url", "text"),
    [
        (None, "http://h:8083/", "set dedicated.mode.enable.internal.rest=true"),
        (Rest(), None, "the URL of the leader's REST interface is empty!"),
        (Rest(), "", "the URL of the leader's REST interface is empty!"),
        # What a process of MirrorMaker without the internal REST API has for a URL, Java's as well.
        (Rest(), "NOTUSED", "its URL is NOTUSED. Set dedicated.mode.enable.internal.rest=true"),
    ],
)
def test_a_leader_that_cannot_be_reached(rest: Rest | None, url: str | None, text: str) -> None:
    with pytest.raises(ConnectError) as raised:
        LeaderClient(rest, "HmacSHA256").put_task_configs(url, "c", [], None)
    assert text in str(raised.value)
    assert rest is None or rest.sent == []

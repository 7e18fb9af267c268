"""What workers ask of their leader."""

from typing import Any

import pytest

from connect_dagster.protocol.signature import RequestSignature, signed_headers
from tests.unit.rest.asking import Asking
from tests.unit.rest.memory_herder import MemoryHerder

KEY = b"session key"
HEADERS = ("X-Connect-Authorization", "X-Connect-Request-Signature-Algorithm")


def test_task_configs_are_published_with_their_signature(herder: MemoryHerder, ask: Asking) -> None:
    body = b'[{"task.class":"T","n":1.10,"b":true,"none":null}, {}]'
    answer = ask("POST", "/connectors/c/tasks", body, signed_headers(KEY, "HmacSHA256", body))
    assert (answer.status, answer.body) == (204, b"")
    name, configs, signature = herder.published
    assert (name, configs) == ("c", [{"task.class": "T", "n": "1.10", "b": "true"}, {}])
    assert signature
    assert signature.body == body
    assert signature.matches(KEY)


def test_producers_are_fenced_with_a_signature_of_nothing(herder: MemoryHerder, ask: Asking) -> None:
    assert ask("PUT", "/connectors/c/fence", headers=signed_headers(KEY, "HmacSHA512", b"")).status == 204
    name, signature = herder.fenced
    assert name == "c"
    assert isinstance(signature, RequestSignature)
    assert signature.matches(KEY)


def test_whether_a_signature_is_needed_is_the_herders_to_say(herder: MemoryHerder, ask: Asking) -> None:
    assert ask("POST", "/connectors/c/tasks", [], {"Content-Type": "text/plain"}).status == 204
    assert herder.published == ("c", [], None)
    assert ask("PUT", "/connectors/no/fence").message == "Connector no not found"


@pytest.mark.parametrize(
    ("signature", "algorithm", "text"),
    [("!!", "HmacSHA256", "Illegal base64 character 21"), ("aaaa", "Nope", "Algorithm Nope not available")],
)
def test_an_unreadable_signature_is_400_before_all_else(ask: Asking, signature: str, algorithm: str, text: str) -> None:
    for method, path, body in (("POST", "tasks", []), ("PUT", "fence", None)):
        headers = dict(zip(HEADERS, (signature, algorithm), strict=True))
        answer = ask(method, f"/connectors/no/{path}", body, headers)
        assert (answer.status, answer.message) == (400, text)


@pytest.mark.parametrize("body", [b"", b"[", b"{}", b"null", b"[1]", b'[{"a":{}}]'])
def test_unreadable_task_configs_are_500(ask: Asking, body: Any) -> None:
    assert ask("POST", "/connectors/c/tasks", body).status == 500

"""Requests from pages that come from elsewhere; the expectations are what Java 4.3.1 was seen to answer."""

from collections.abc import Mapping

import pytest

from connect_dagster.errors import ConfigError
from connect_dagster.rest.cors import LONGEST_ORIGINS, CorsRules
from tests.rest_calls import call
from tests.unit.rest.memory_herder import MemoryHerder
from tests.unit.rest.serving import LOCAL, rest_server, serving

SOME = {"access.control.allow.origin": r"http://a\.com, http://b.*", "access.control.allow.methods": "GET,PUT"}


def told(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name.startswith("access-control-") or name == "vary"}


def test_without_a_setting_nobody_is_told_anything(herder: MemoryHerder) -> None:
    with serving(herder) as server:
        assert told(call(server.advertised_url, "GET", "/connectors", headers={"Origin": "http://a.com"}).headers) == {}


@pytest.mark.parametrize(
    ("origin", "allowed"),
    [
        ("http://a.com", "http://a.com"),
        ("HTTP://A.com", "HTTP://A.com"),
        ("http://bcd.org", "http://bcd.org"),
        ("http://x http://a.com", "http://x http://a.com"),
        ("http://axcom", None),
        ("http://a.com.evil.org", None),
        (None, None),
    ],
)
def test_some_origins_may_ask(herder: MemoryHerder, origin: str | None, allowed: str | None) -> None:
    with serving(herder, **SOME) as server:
        for path, status in (("/connectors", 200), ("/nope", 404)):
            answer = call(server.advertised_url, "GET", path, headers={"Origin": origin or ""})
            assert answer.status == status
            allowing = {"access-control-allow-origin": allowed} if allowed else {}
            assert told(answer.headers) == {"vary": "Origin", **allowing}


def test_a_preflight_request_is_told_what_is_allowed_and_served(herder: MemoryHerder) -> None:
    with serving(herder, **SOME) as server:
        asking = {"Origin": "http://a.com", "Access-Control-Request-Method": "DELETE"}
        answer = call(server.advertised_url, "OPTIONS", "/connectors", headers=asking)
        assert (answer.status, answer.body) == (200, b"HEAD, GET, POST, OPTIONS")
        assert told(answer.headers) == {
            "vary": "Origin",
            "access-control-allow-origin": "http://a.com",
            "access-control-allow-methods": "GET,PUT",
            "access-control-allow-headers": "Content-Type",
            "access-control-max-age": "60",
        }
        refused = call(server.advertised_url, "OPTIONS", "/connectors", headers={**asking, "Origin": "http://c.com"})
        assert (refused.status, told(refused.headers)) == (200, {"vary": "Origin"})


def test_any_origin_may_read_by_default(herder: MemoryHerder) -> None:
    with serving(herder, **{"access.control.allow.origin": "http://a.com,*"}) as server:
        asking = {"Origin": "http://x", "Access-Control-Request-Method": "PUT"}
        answer = call(server.advertised_url, "OPTIONS", "/nope", headers=asking)
        assert answer.status == 404
        assert told(answer.headers)["access-control-allow-methods"] == "GET,POST,HEAD"
        assert told(answer.headers)["access-control-allow-origin"] == "http://x"


def test_an_origin_is_a_regular_expression() -> None:
    with pytest.raises(ConfigError, match=r"^Invalid value \*x for configuration access\.control\.allow\.origin: "):
        rest_server(LOCAL, **{"access.control.allow.origin": "*x"})


def test_a_runaway_expression_and_a_long_header_are_not_allowed(caplog: pytest.LogCaptureFixture) -> None:
    """R8: at ce718d3 the expression held the server's loop for hours."""
    rules = CorsRules.parse("(a|aa)+$,b+", "")
    assert rules is not None
    assert not rules.allow("a" * 60 + "!")
    assert caplog.messages[0].startswith("An expression of access.control.allow.origin is too costly")
    assert rules.allow("b" * LONGEST_ORIGINS)
    assert not rules.allow("b" * (LONGEST_ORIGINS + 1))

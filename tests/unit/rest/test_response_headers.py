"""Headers of all answers, by rules."""

from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

import pytest

from connect_dagster.errors import ConfigError
from tests.rest_calls import call
from tests.unit.rest.memory_herder import MemoryHerder
from tests.unit.rest.serving import LOCAL, rest_server, serving

SETTING = "response.http.headers.config"


def test_answers_carry_the_headers(herder: MemoryHerder) -> None:
    rules = (
        'add X-XSS-Protection: 1; mode=block, "add Cache-Control: no-cache, no-store, must-revalidate" ,'
        "SET Content-Type: text/x,  setDate Expires: 60000, add X-Twice: a, addDate\tX-Date: -1000"
    )
    with serving(herder, **{SETTING: rules}) as server:
        for path, status in (("/connectors", 200), ("/nope", 404), ("/admin/loggers", 200)):
            answer = call(server.advertised_url, "GET", path)
            assert answer.status == status
            assert answer.headers["x-xss-protection"] == "1; mode=block"
            assert answer.headers["cache-control"] == "no-cache, no-store, must-revalidate"
            assert answer.headers["content-type"] == "text/x"
            in_a_minute = parsedate_to_datetime(answer.headers["expires"]) - datetime.now(UTC)
            assert timedelta(seconds=55) < in_a_minute <= timedelta(seconds=60)
            assert answer.headers["x-date"].endswith(" GMT")


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("set", "Invalid format of header config 'set'. Expected: '[action] [header name]:[header value]'"),
        ("put X-A: 1", "Invalid header config action: 'put'. Expected one of [set, add, setDate, addDate]"),
        (
            "add X-A",
            "Invalid format of header name and header value pair 'X-A'. Expected: '[header name]:[header value]'",
        ),
        (
            "add X-A:",
            "Invalid format of header name and header value pair 'X-A:'. Expected: '[header name]:[header value]'",
        ),
        (
            "add X-A: b:c",
            "Invalid format of header name and header value pair 'X-A: b:c'. Expected: '[header name]:[header value]'",
        ),
        ("add X A: b", "Invalid header name 'X A'. The '[header name]' cannot contain whitespace"),
        ("add : b", "Invalid header name ''. The '[header name]' cannot contain whitespace"),
        ("setDate X-A: soon", "Invalid header config 'setDate X-A: soon'. setDate expects milliseconds from now"),
    ],
)
def test_other_rules_are_refused(rule: str, text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        rest_server(LOCAL, **{SETTING: f"set X-Fine: 1, {rule}"})
    assert str(caught.value) == text

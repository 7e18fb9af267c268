"""Tokens of a login: kept, renewed before their end, and kept when their renewal fails."""

import threading
import time

import pytest

from connect_dagster.errors import ConnectError, RetriableError
from connect_dagster.kafka.security.oauth_login import OAuthLogin, RefreshConfig
from connect_dagster.plugin import BearerToken, JwtRetriever

REFRESH = RefreshConfig.parse({})


class Clock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


class Counter(JwtRetriever):
    """Makes tokens with numbers, for an hour; raises its error instead while it has one."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.count = 0
        self.error: Exception | None = None

    def retrieve(self) -> BearerToken:
        self.count += 1
        if self.error is not None:
            raise self.error
        return BearerToken(str(self.count), self.clock.now + 3_600, "me")


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def retriever(clock: Clock) -> Counter:
    return Counter(clock)


@pytest.fixture
def login(retriever: Counter, clock: Clock) -> OAuthLogin:
    return OAuthLogin(retriever, REFRESH, clock=clock)


@pytest.mark.parametrize(
    ("seconds", "settings", "renewal"),
    [
        (3_600, {}, 2_880),
        (3_600, {"sasl.login.refresh.window.factor": "0.99"}, 3_300),
        (3_600, {"sasl.login.refresh.min.period.seconds": "3000"}, 3_000),
        (300, {}, 240),
    ],
)
def test_when_a_token_is_replaced(seconds: float, settings: dict[str, str], renewal: float) -> None:
    """As Java's ExpiringCredentialRefreshingLogin; of a short token neither buffer nor period count."""
    assert RefreshConfig.parse(settings).renewal(0, seconds, 0) == renewal


def test_a_token_is_kept_and_renewed_before_its_end(login: OAuthLogin, clock: Clock) -> None:
    assert [login.token().value for _ in range(3)] == ["1"] * 3
    clock.now += 3_100
    assert login.token().value == "2"


def test_a_token_that_is_to_be_replaced_is_renewed_once(login: OAuthLogin) -> None:
    former = login.token()
    assert [login.token(former).value for _ in range(3)] == ["2"] * 3


def test_a_renewal_that_fails_leaves_the_token(
    login: OAuthLogin, retriever: Counter, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    login.token()
    clock.now += 3_100
    retriever.error = RetriableError("nobody there")
    assert [login.token().value for _ in range(3)] == ["1"] * 3
    assert retriever.count == 2, "it is not asked again at once"
    assert "The token of a login was not renewed: nobody there" in caplog.text
    clock.now += 600
    with pytest.raises(RetriableError, match="nobody there"):
        login.token()
    retriever.error = None
    assert login.token().value == "4"


def test_an_error_of_the_users_class_is_named(login: OAuthLogin, retriever: Counter) -> None:
    retriever.error = KeyError("vault")
    with pytest.raises(ConnectError, match="No token: KeyError: 'vault'"):
        login.token()


def test_clients_wait_for_one_request(login: OAuthLogin, retriever: Counter) -> None:
    entered, go_on = threading.Event(), threading.Event()
    make = retriever.retrieve

    def slow() -> BearerToken:
        entered.set()
        go_on.wait(30)
        return make()

    retriever.retrieve = slow  # type: ignore[method-assign]
    found: list[str] = []
    threads = [threading.Thread(target=lambda: found.append(login.token().value)) for _ in range(5)]
    for thread in threads:
        thread.start()
    entered.wait(30)
    time.sleep(0.05)
    go_on.set()
    for thread in threads:
        thread.join(30)
    assert (found, retriever.count) == (["1"] * 5, 1)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("abc", "is not a JWT"),
        ("a.b.c", "is not a JWT"),
        ("e30.eyJzdWIiOiAibWUifQ.", "lacks the claim exp"),
        ("e30.eyJleHAiOiA5OTk5OTk5OTk5fQ.", "lacks the claim sub"),
        ("e30.eyJleHAiOiAxLCAic3ViIjogIm1lIn0.", "is not valid any more"),
    ],
)
def test_texts_that_are_not_tokens(text: str, error: str, retriever: Counter, clock: Clock) -> None:
    class Texts(JwtRetriever):
        def retrieve(self) -> str:
            return text

    with pytest.raises(ConnectError, match=error):
        OAuthLogin(Texts(), REFRESH, clock=clock).token()

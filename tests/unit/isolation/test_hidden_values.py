"""Texts without the values of config providers and without secrets."""

import json
import time

import pytest

from connect_dagster.isolation import hidden_values
from connect_dagster.isolation.config_transformer import ConfigTransformer
from connect_dagster.isolation.hidden_values import HiddenValues
from tests.unit.isolation.test_config_transformer import Table

PASSWORD = 'hunter2\\"Ä/x'


@pytest.fixture
def hidden() -> HiddenValues:
    values = HiddenValues()
    values.add({"${f:/s:password}": PASSWORD, "${e:TOPIC}": "orders"}, [PASSWORD, "postgres", "l1teral-secret"])
    return values


@pytest.mark.parametrize(
    "quoted",
    [PASSWORD, repr(PASSWORD), json.dumps(PASSWORD), "jdbc:x://ann:hunter2%5C%22%C3%84%2Fx@db", f"s{PASSWORD}e"],
)
def test_a_value_is_hidden_however_it_is_quoted(hidden: HiddenValues, quoted: str) -> None:
    for text in (hidden.in_error(f"refused {quoted} here"), hidden.in_log(f"refused {quoted} here", detailed=False)):
        assert "hunter2" not in text
        assert "${f:/s:password}" in text


def test_other_secrets_are_hidden_without_a_name(hidden: HiddenValues) -> None:
    assert hidden.in_error("got l1teral-secret.") == "got [hidden]."


def test_a_log_line_shows_values_that_are_not_secrets(hidden: HiddenValues) -> None:
    assert hidden.in_log("reads orders", detailed=False) == "reads orders"
    assert hidden.in_log("reads orders", detailed=True) == hidden.in_error("reads orders") == "reads ${e:TOPIC}"


@pytest.mark.parametrize("text", ["org.postgresql.Driver", "/etc/postgres/x", "postgres-1", "host.postgres"])
def test_a_word_that_is_a_secret_does_not_blot_out_others(hidden: HiddenValues, text: str) -> None:
    assert hidden.in_error(text) == hidden.in_log(text, detailed=False) == text
    assert "postgres" not in hidden.in_log(text, detailed=True)


@pytest.mark.parametrize("text", ["'{}'", "u:{}@h", "password={}&x", "wrong: {}.", "{}, 2"])
def test_a_word_is_hidden_where_it_stands_alone(hidden: HiddenValues, text: str) -> None:
    assert hidden.in_error(text.format("postgres")) == text.format("[hidden]")


def test_a_word_is_hidden_in_a_url_of_oracle(hidden: HiddenValues) -> None:
    """Failed: a slash before it made it a part of a path."""
    assert hidden.in_error("at jdbc:oracle:thin:ann/postgres@//db:1521/x") == (
        "at jdbc:oracle:thin:ann/[hidden]@//db:1521/x"
    )


def test_lines_and_items_of_a_value() -> None:
    values = HiddenValues()
    values.add({"${d:/k:pem}": "BEGIN\nMIIB1234=\nEND\n", "${d:/k:list}": "first1, second2"})
    assert values.in_error("at MIIB1234= and second2") == "at ${d:/k:pem} and ${d:/k:list}"


def test_a_placeholder_that_contains_another_value_stays_whole() -> None:
    values = HiddenValues()
    values.add({"${f:/secrets:key}": "value-1", "${e:NAME}": "secrets"})
    assert values.in_error("value-1 of secrets") == "${f:/secrets:key} of ${e:NAME}"


def test_short_values_are_left_alone(hidden: HiddenValues) -> None:
    hidden.add({"${e:N}": "12", "${e:EMPTY}": ""}, ["abc"])
    assert hidden.in_error("line 12 of abc") == "line 12 of abc"


def test_the_newest_values_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hidden_values, "_MOST", 2)
    values = HiddenValues()
    for number in (1, 2, 3):
        values.add({"${v:t}": f"token-{number}"})
    assert values.in_error("token-1 token-2 token-3") == "token-1 ${v:t} ${v:t}"


def test_a_long_list_does_not_push_out_passwords(hidden: HiddenValues) -> None:
    """Failed: each item took the place of a value."""
    hidden.add({"${f:/s:tables}": ",".join(f"table{number}" for number in range(hidden_values._MOST))})
    assert hidden.in_error("got l1teral-secret for table7") == "got [hidden] for ${f:/s:tables}"


def test_a_transformer_hides_what_went_to_plugins() -> None:
    transformer = ConfigTransformer({"t": Table({"/s": {"password": "r3solved", "port": "9092"}})})
    written = {
        "db.password": "${t:/s:password}",
        "url": "jdbc:x://h:${t:/s:port}?password=l1teral",
        "p": "pl4in",
        "q": "q",
    }
    transformer.resolve(written)
    text = "r3solved 9092 l1teral pl4in q"
    assert transformer.hidden.in_error(text) == text
    transformer.transform(written, {"p"})
    assert transformer.hidden.in_error(text) == "${t:/s:password} ${t:/s:port} [hidden] [hidden] q"
    assert transformer.hidden.in_log(text, detailed=False) == "${t:/s:password} 9092 [hidden] [hidden] q"


@pytest.mark.parametrize("count", [0, 1])
def test_a_text_costs_little_where_there_is_little_to_hide(count: int) -> None:
    """Fails at fa6cb2e: 0.2 µs for each character, 0.5 ms for the trace of a dead letter, without a value to hide."""
    values = HiddenValues()
    values.add({}, ["l1teral-secret"][:count])
    text = "\tat org.apache.kafka.connect.json.JsonConverter.toConnectData(JsonConverter.java:333)\n" * 30_000
    began = time.thread_time()
    assert values.in_error(text) == text
    assert time.thread_time() - began < 0.1


@pytest.mark.parametrize("count", [1, 100, 101, 1000])
def test_a_value_is_found_among_any_number(count: int) -> None:
    values = HiddenValues()
    values.add({}, [f"{number:04}-secret" for number in range(count)])
    assert values.in_error(f"got {count - 1:04}-secret") == "got [hidden]"

"""Questions that validation leaves open, and the configuration that their answers make."""

from collections.abc import Callable, Mapping
from typing import Any

from connect_dagster.cli.connectors.config_questions import Question, complete_config, open_questions
from connect_dagster.client.types import ConfigValidation

PLUGIN = "x.Tables"
KINDS = {"name": "STRING", "mode": "STRING", "topics": "LIST", "topics.regex": "STRING", "pin": "PASSWORD"}


def entry(key: str, value: str | None, error: str | None) -> dict[str, Any]:
    definition = {"name": key, "type": KINDS[key], "required": key in ("name", "mode"), "documentation": f"A {key}."}
    recommended = ["bulk", None, "timestamp"] if key == "mode" else []
    found = {"name": key, "value": value, "errors": [error] if error else [], "recommended_values": recommended}
    return {"definition": definition, "value": found}


def validation(config: Mapping[str, str | None], errors: Mapping[str, str]) -> ConfigValidation:
    configs = [entry(key, config.get(key), errors.get(key)) for key in KINDS]
    unknown = [
        {"definition": None, "value": {"name": key, "errors": [error]}}
        for key, error in errors.items()
        if key not in KINDS
    ]
    return ConfigValidation.model_validate({"name": PLUGIN, "error_count": len(errors), "configs": configs + unknown})


def worker(config: Mapping[str, str | None]) -> ConfigValidation:
    """Validate as a worker does: two required keys, and one of two topics."""
    errors = {key: "missing" for key in ("name", "mode") if key not in config}
    if config.get("mode") not in (None, "bulk", "timestamp"):
        errors["mode"] = f"{config['mode']} is not a mode"
    if not {"topics", "topics.regex"} & config.keys():
        errors |= {"topics": "one of two", "topics.regex": "one of two"}
    return validation(config, errors)


def answers(*given: tuple[str, str]) -> tuple[Callable[[Question, Mapping[str, str | None]], str], list[Question]]:
    """Return a user who gives these answers to these questions, in this order, and the questions so far."""
    left, asked = list(given), list[Question]()

    def ask(question: Question, _: Mapping[str, str | None]) -> str:
        asked.append(question)
        key, answer = left.pop(0)
        assert question.key == key
        return answer

    return ask, asked


def test_wrong_options_are_open_and_then_those_that_are_wished() -> None:
    found = open_questions(validation({"mode": "x"}, {"name": "missing", "mode": "wrong", "extra": "why"}), ["pin"])
    assert [question.key for question in found] == ["name", "mode", "extra", "pin"]
    assert found[0] == Question("name", ("missing",), "STRING", "A name.", is_missing=True)
    assert (found[1].recommended, found[1].is_missing) == (("bulk", "timestamp"), False)
    assert found[2] == Question("extra", ("why",))
    assert (found[3].is_secret, found[3].errors) == (True, ())


def test_answers_complete_a_configuration() -> None:
    ask, asked = answers(("name", "a"), ("mode", "x"), ("mode", "bulk"), ("topics", "t"))
    assert complete_config({"connector.class": PLUGIN}, worker, ask) == {
        "connector.class": PLUGIN,
        "name": "a",
        "mode": "bulk",
        "topics": "t",
    }
    assert asked[2].errors == ("x is not a mode",)


def test_an_empty_answer_leads_to_the_next_question() -> None:
    given = {"connector.class": PLUGIN, "name": "a", "mode": "bulk"}
    ask, _ = answers(("topics", ""), ("topics.regex", ""), ("topics", ""), ("topics.regex", "t.*"))
    assert complete_config(given, worker, ask) == {**given, "topics.regex": "t.*"}


def test_a_wished_option_is_asked_for_once() -> None:
    given = {"connector.class": PLUGIN, "name": "a", "mode": "bulk", "topics": "t"}
    ask, _ = answers(("pin", ""))
    assert complete_config(given, worker, ask, ["pin"]) == given
    ask, _ = answers(("pin", "1234"))
    assert complete_config(given, worker, ask, ["pin"]) == {**given, "pin": "1234"}


def test_nothing_is_asked_about_a_valid_configuration() -> None:
    given = {"connector.class": PLUGIN, "name": "a", "mode": "bulk", "topics": "t"}
    ask, asked = answers()
    assert (complete_config(given, worker, ask), asked) == (given, [])

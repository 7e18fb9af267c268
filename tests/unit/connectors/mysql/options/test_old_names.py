"""Names and values of Debezium 1.x, and names that tutorials have wrong."""

import pytest

from connect_dagster.connectors.mysql.options.old_names import (
    MISTAKEN,
    OLD_NAMES,
    OLD_VALUES,
    Twice,
    with_present_names,
)


@pytest.mark.parametrize("old", list(OLD_NAMES))
def test_old_name(old: str) -> None:
    renamed = with_present_names({old: "v", "database.server.id": "1"})
    assert renamed.properties == {OLD_NAMES[old].name: "v", "database.server.id": "1"}
    assert renamed.warnings == (f"{old} is an old name of {OLD_NAMES[old].name}",)
    assert renamed.errors == ()


@pytest.mark.parametrize("old", list(OLD_NAMES))
def test_old_name_and_new_one(old: str) -> None:
    new = OLD_NAMES[old].name
    renamed = with_present_names({new: "new", old: "old"})
    assert renamed.properties[new] == "new"
    if OLD_NAMES[old].twice is Twice.REFUSED:
        (error,) = renamed.errors
        assert error.message == (
            f"Configuration {old} is given twice: {old} and {new} are the same option. Give {new} alone"
        )
        assert error.name == old
    else:
        assert renamed.errors == ()
        assert renamed.warnings == (f"{old} is without effect: {new}, its present name, is given as well",)


def test_two_old_names() -> None:
    old = ("database.history.store.only.monitored.tables.ddl", "database.history.store.only.captured.tables.ddl")
    renamed = with_present_names(dict.fromkeys(old, "true"))
    (error,) = renamed.errors
    assert all(name in error.message for name in old)


def test_prefix() -> None:
    renamed = with_present_names({"database.history.producer.security.protocol": "SSL"})
    assert renamed.properties == {"schema.history.internal.producer.security.protocol": "SSL"}
    assert len(renamed.warnings) == 1


@pytest.mark.parametrize(
    ("name", "old", "new"), [(name, old, new) for name, values in OLD_VALUES.items() for old, new in values.items()]
)
def test_old_value(name: str, old: str, new: str) -> None:
    renamed = with_present_names({name: f" {old} "})
    assert renamed.properties == {name: new}
    assert renamed.warnings == (f"{name}={old} is an old value: it is {new} now",)


def test_old_name_with_an_old_value() -> None:
    renamed = with_present_names({"database.history": "io.debezium.relational.history.KafkaDatabaseHistory"})
    assert renamed.properties["schema.history.internal"].endswith("KafkaSchemaHistory")
    assert len(renamed.warnings) == 2


@pytest.mark.parametrize("name", list(MISTAKEN))
def test_name_of_another(name: str) -> None:
    renamed = with_present_names({name: "v"})
    (error,) = renamed.errors
    assert error.message == f"Configuration {name} is not an option of this connector: it is {MISTAKEN[name]}"
    assert renamed.properties == {name: "v"}


def test_server_id_is_chosen_as_in_1_x() -> None:
    def choose(lowest: int, greatest: int) -> int:
        assert (lowest, greatest) == (5400, 6400)
        return 6000

    assert with_present_names({"database.server.name": "shop"}, choose).properties["database.server.id"] == "6000"
    assert with_present_names({"database.server.name": "shop", "database.server.id": "7"}).warnings == (
        "database.server.name is an old name of topic.prefix",
    )
    assert "database.server.id" not in with_present_names({"topic.prefix": "shop"}).properties


def test_nothing_old() -> None:
    given = {"topic.prefix": "shop", "database.ssl.mode": "disabled", "empty": None}
    renamed = with_present_names(given)
    assert renamed.properties == {"topic.prefix": "shop", "database.ssl.mode": "disabled"}
    assert (renamed.warnings, renamed.errors) == ((), ())

"""Options that are accepted and change nothing: each has a warning with its reason."""

import pytest

from connect_dagster.connectors.mysql.options.config import MariaDbConfig, MySqlConfig
from connect_dagster.connectors.mysql.options.without_effect import (
    MARIADB_WITHOUT_EFFECT,
    MYSQL_WITHOUT_EFFECT,
    warnings,
)
from connect_dagster.plugin.config import ConfigKey, Type, to_text
from tests.mysql_options import MINIMAL

OTHERS = {Type.BOOLEAN: ("true", "false"), Type.INT: ("17", "18"), Type.LONG: ("17", "18")}


def other_value(key: ConfigKey) -> str:
    values = OTHERS.get(key.type, ("other", "others"))
    return next(value for value in values if value != to_text(key.default, key.type))


@pytest.mark.parametrize("key", MYSQL_WITHOUT_EFFECT, ids=lambda key: key.name)
def test_row(key: ConfigKey) -> None:
    given = {**MINIMAL, key.name: other_value(key)}
    assert [value.errors for value in MySqlConfig.validate_all(given) if value.errors] == []
    assert MySqlConfig.warnings(given) == [f"{key.name} is without effect here. {key.documentation}"]
    default = to_text(key.default, key.type)
    assert list(warnings((key,), {key.name: default or ""})) == []


def test_only_mysql_has_a_driver() -> None:
    of_mysql = {key.name for key in MYSQL_WITHOUT_EFFECT} - {key.name for key in MARIADB_WITHOUT_EFFECT}
    assert of_mysql > {"database.jdbc.driver", "database.protocol", "ddl.parser.type"}
    assert MariaDbConfig.warnings({**MINIMAL, "database.protocol": "jdbc:other"}) == []


def test_wrong_type() -> None:
    values = MySqlConfig.validate_all({**MINIMAL, "binlog.buffer.size": "much"})
    (wrong,) = [value for value in values if value.errors]
    assert wrong.errors == ["Invalid value much for configuration binlog.buffer.size: Not a number of type INT"]

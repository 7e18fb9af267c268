"""Which columns come from which part of a record, in which order, and what schemas are refused."""

import pytest

from connect_dagster.connectors.jdbc.dialects import DIALECTS, MYSQL, POSTGRESQL
from connect_dagster.connectors.jdbc.sink.config import JdbcSinkConfig
from connect_dagster.connectors.jdbc.sink.fields import Part, SinkField, SinkFields
from connect_dagster.connectors.jdbc.sink.types import ColumnTypes
from connect_dagster.errors import ConnectError
from connect_dagster.plugin.schema import STRING_SCHEMA, Schema, SchemaField, SchemaType

INT = Schema(SchemaType.INT32)
KEY = Schema(SchemaType.STRUCT, fields=(SchemaField("id", INT), SchemaField("shop", STRING_SCHEMA)))
VALUE = Schema(
    SchemaType.STRUCT, fields=(SchemaField("name", STRING_SCHEMA), SchemaField("id", INT), SchemaField("price", INT))
)


def config(**options: str) -> JdbcSinkConfig:
    given = {name.replace("_", "."): value for name, value in options.items()}
    return JdbcSinkConfig.parse({"name": "s", "connection.url": "jdbc:postgresql://h/d", **given})


def fields(config: JdbcSinkConfig, key: Schema | None = KEY, value: Schema | None = VALUE) -> SinkFields:
    return SinkFields.of(config, "t", key, value)


def names(found: tuple[SinkField, ...]) -> list[str]:
    return [field.name for field in found]


@pytest.mark.parametrize(
    ("options", "keys", "values", "created"),
    [
        ({}, [], ["name", "id", "price"], ["name", "id", "price"]),
        ({"pk_mode": "record_key"}, ["id", "shop"], ["name", "price"], ["name", "id", "price", "shop"]),
        (
            {"pk_mode": "record_key", "pk_fields": "shop"},
            ["shop"],
            ["name", "id", "price"],
            ["name", "id", "price", "shop"],
        ),
        ({"pk_mode": "record_value", "pk_fields": "id"}, ["id"], ["name", "price"], ["name", "id", "price"]),
        (
            {"pk_mode": "kafka", "pk_fields": "a,b,c"},
            ["a", "b", "c"],
            ["name", "id", "price"],
            ["name", "id", "price", "a", "b", "c"],
        ),
        ({"fields_whitelist": "price"}, [], ["price"], ["price"]),
    ],
)
def test_columns_and_their_order(
    options: dict[str, str], keys: list[str], values: list[str], created: list[str]
) -> None:
    found = fields(config(**options))
    assert (names(found.keys), names(found.values), names(found.created)) == (keys, values, created)


def test_kafkas_coordinates_stand_first() -> None:
    assert names(fields(config(pk_mode="kafka")).created)[:3] == [
        "__connect_topic",
        "__connect_partition",
        "__connect_offset",
    ]


@pytest.mark.parametrize(
    ("options", "key", "value", "text"),
    [
        ({"pk_mode": "record_key"}, INT, VALUE, "Need exactly one PK column defined"),
        ({"pk_mode": "record_key"}, None, VALUE, "but record key schema is missing"),
        ({"pk_mode": "record_key", "pk_fields": "no"}, KEY, VALUE, "record key schema does not contain field: no"),
        ({"pk_mode": "record_value", "pk_fields": "no"}, KEY, VALUE, "record value schema does not contain field: no"),
        ({}, None, INT, "Value schema must be of type Struct or String"),
        (
            {"fields_whitelist": "a"},
            None,
            STRING_SCHEMA,
            "options that are not applicable to String values",
        ),
        ({"pk_mode": "record_value"}, None, STRING_SCHEMA, "not supported with String value schemas"),
    ],
)
def test_schemas_that_do_not_fit(options: dict[str, str], key: Schema | None, value: Schema | None, text: str) -> None:
    with pytest.raises(ConnectError) as raised:
        fields(config(**options), key, value)
    assert text in str(raised.value)


@pytest.mark.parametrize(
    ("dialect", "field", "definition"),
    [
        (MYSQL, SinkField("id", STRING_SCHEMA, Part.KEY, is_key=True), "`id` VARCHAR(255) NOT NULL"),
        (MYSQL, SinkField("x", Schema(SchemaType.BOOLEAN, optional=True), Part.VALUE), "`x` TINYINT NULL"),
        (POSTGRESQL, SinkField("x", Schema(SchemaType.BOOLEAN, default=True), Part.VALUE), '"x" BOOLEAN DEFAULT TRUE'),
        (
            POSTGRESQL,
            SinkField("x", Schema(SchemaType.ARRAY, optional=True, value_schema=INT), Part.VALUE),
            '"x" INT[] NULL',
        ),
        (MYSQL, SinkField("x", Schema(SchemaType.STRING, default="\\it's"), Part.VALUE), r"`x` TEXT DEFAULT '\\it''s'"),
        (POSTGRESQL, SinkField("x", Schema(SchemaType.STRING, default="\\"), Part.VALUE), r""""x" TEXT DEFAULT '\'"""),
        ("GenericDatabaseDialect", SinkField("x", STRING_SCHEMA, Part.VALUE), '"x" VARCHAR(32672) NOT NULL'),
    ],
)
def test_definitions(dialect: str, field: SinkField, definition: str) -> None:
    assert ColumnTypes(DIALECTS[dialect], "UTC").definition(field, counted=False) == definition


def test_a_type_that_no_column_has() -> None:
    nested = SinkField("x", KEY, Part.VALUE)
    with pytest.raises(ConnectError, match=r"null \(STRUCT\) type doesn't have a mapping"):
        ColumnTypes(DIALECTS[MYSQL], "UTC").definition(nested, counted=False)

"""Schemas as keys: what is made for one is kept by it."""

from connect_dagster.plugin.schema import STRING_SCHEMA, Schema, SchemaField, SchemaType


def test_a_schema_whose_default_is_a_list_or_a_dict_is_a_key() -> None:
    """At 93a380f it had no hash."""

    def schema(*default: str) -> Schema:
        names = Schema(SchemaType.ARRAY, value_schema=STRING_SCHEMA, default=[*default])
        return Schema(SchemaType.STRUCT, fields=(SchemaField("names", names),), default={"names": [*default]})

    assert {schema("a"): 1}[schema("a")] == 1
    assert schema("b") not in {schema("a"): 1}

"""Options of ByLogicalTableRouter, and the schemas of records in another topic."""

from dataclasses import replace

import pytest

from connect_dagster.errors import ConfigError, DataError
from connect_dagster.transforms.debezium.by_logical_table_router import (
    ByLogicalTableRouterConfig,
    routed_envelope,
    routed_key,
)
from tests.unit.transforms.debezium.change_events import ENVELOPE, INT32, KEY, ROW, SOURCE, names, struct

REQUIRED = {"topic.regex": "(.*)_shard.*", "topic.replacement": "$1"}


def test_defaults() -> None:
    options = ByLogicalTableRouterConfig.parse(REQUIRED)
    assert (options.unique_keys, options.key_field, options.adjustment, options.cache_size) == (
        True,
        "__dbz__physicalTableIdentifier",
        "none",
        16,
    )


@pytest.mark.parametrize(
    ("config", "name", "text"),
    [
        ({"topic.replacement": "x"}, "topic.regex", "Missing required configuration"),
        ({"topic.regex": "x"}, "topic.replacement", "Missing required configuration"),
        ({**REQUIRED, "topic.regex": ""}, "topic.regex", "String must be non-empty"),
        ({**REQUIRED, "topic.regex": "("}, "topic.regex", "Invalid regex"),
        ({**REQUIRED, "topic.replacement": ""}, "topic.replacement", "String must be non-empty"),
        ({**REQUIRED, "key.enforce.uniqueness": "no"}, "key.enforce.uniqueness", "either true or false"),
        ({**REQUIRED, "key.field.regex": "(", "key.field.replacement": "x"}, "key.field.regex", "Invalid regex"),
        (
            {**REQUIRED, "key.field.regex": "(.*)"},
            "key.field.replacement",
            "key.field.replacement must be non-empty if key.field.regex is set.",
        ),
        ({**REQUIRED, "schema.name.adjustment.mode": "xml"}, "schema.name.adjustment.mode", "AVRO_UNICODE"),
        ({**REQUIRED, "logical.table.cache.size": "few"}, "logical.table.cache.size", "Not a number of type INT"),
    ],
)
def test_a_wrong_option_is_refused(config: dict[str, str], name: str, text: str) -> None:
    with pytest.raises(ConfigError) as error:
        ByLogicalTableRouterConfig.parse(config)
    assert error.value.name == name
    assert text in str(error.value)
    assert name in str(error.value)


def test_an_empty_expression_for_keys_is_none() -> None:
    assert ByLogicalTableRouterConfig.parse({**REQUIRED, "key.field.regex": " "}).key_regex == ""


def test_keys_are_named_after_the_topic_and_name_their_table() -> None:
    schema = routed_key(replace(KEY, version=3, doc="d", parameters=(("a", "b"),)), "shop-all", "none", "table")
    assert (schema.name, schema.version, schema.doc, schema.parameters) == ("shop-all.Key", 3, "d", (("a", "b"),))
    assert names(schema) == ["id int32", "table string"]
    assert names(routed_key(KEY, "t", "none", None)) == ["id int32"]
    assert routed_key(KEY, "shop-all", "avro", None).name == "shop_all.Key"


def test_a_key_with_a_field_of_that_name_is_refused() -> None:
    with pytest.raises(DataError, match="Cannot create field because of field name duplication id"):
        routed_key(KEY, "t", "none", "id")


def test_envelopes_and_rows_are_named_after_the_topic() -> None:
    schema = routed_envelope(ENVELOPE, "all-goods", "avro")
    before, after, source = (field.schema for field in schema.fields[:3])
    assert (schema.name, schema.version, names(schema)) == ("all_goods.Envelope", 2, names(ENVELOPE))
    assert before == after == replace(ROW, name="all_goods.Value")
    assert source is SOURCE


def test_an_envelope_has_a_row_before() -> None:
    with pytest.raises(DataError, match="before is not a valid field name"):
        routed_envelope(struct("x.Envelope", after=INT32), "t", "none")

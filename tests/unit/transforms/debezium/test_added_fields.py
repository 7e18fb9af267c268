"""References to fields of envelopes, in the forms that Debezium takes."""

from dataclasses import replace

import pytest

from connect_dagster.errors import ConfigError, DataError
from connect_dagster.plugin.schema import OPTIONAL_STRING_SCHEMA, Schema, SchemaType
from connect_dagster.transforms.debezium.added_fields import FieldReference, all_found, references, valid_references
from tests.unit.transforms.debezium.change_events import ENVELOPE, INT64, envelope


@pytest.mark.parametrize(
    ("text", "struct", "field", "name"),
    [
        ("op", None, "op", "__op"),
        ("ts_ms", None, "ts_ms", "__ts_ms"),
        ("ts_us", None, "ts_us", "__ts_us"),
        ("ts_ns", None, "ts_ns", "__ts_ns"),
        ("table", "source", "table", "__table"),
        ("source.ts_ms", "source", "ts_ms", "__source_ts_ms"),
        ("id", "transaction", "id", "__id"),
        ("total_order", "transaction", "total_order", "__total_order"),
        ("data_collection_order", "transaction", "data_collection_order", "__data_collection_order"),
        ("transaction.id", "transaction", "id", "__transaction_id"),
        ("source.ts_ms:CHANGED", "source", "ts_ms", "__CHANGED"),
        ("op:kind", None, "op", "__kind"),
        ("op:", None, "op", "__op"),
        ("after.id", "after", "id", "__after_id"),
        ("source.a.b", "source", "a", "__source_a"),
    ],
)
def test_forms(text: str, struct: str | None, field: str, name: str) -> None:
    assert FieldReference.parsed("__", text) == FieldReference(struct, field, name)


@pytest.mark.parametrize("text", ["a:b:c", "", ":x", ".", ".x"])
def test_other_forms_are_refused_with_what_would_be_right(text: str) -> None:
    with pytest.raises(ConfigError) as error:
        valid_references("add.fields", ("op", text))
    assert error.value.name == "add.fields"
    assert str(error.value) == (
        f"Invalid value [op, {text}] for configuration add.fields: Each item has to be field, struct.field, "
        f"field:new_name or struct.field:new_name, such as op,source.ts_ms:at, but one is '{text}'"
    )


def test_what_is_found_is_optional_without_a_default() -> None:
    found = all_found(references("", ["op", "source.ts_ms", "snapshot", "missing", "transaction.id"]), ENVELOPE)
    assert [(one.added.name, one.added.schema) for one in found] == [
        ("op", OPTIONAL_STRING_SCHEMA),
        ("source_ts_ms", Schema(SchemaType.INT64, optional=True)),
        ("snapshot", OPTIONAL_STRING_SCHEMA),
        ("transaction_id", OPTIONAL_STRING_SCHEMA),
    ]


def test_names_and_parameters_of_a_schema_stay() -> None:
    schema = Schema(SchemaType.INT64, name="io.debezium.time.Timestamp", version=1, parameters=(("a", "b"),), doc="d")
    (found,) = all_found(references("", ["added"]), envelope(added=schema))
    assert found.added.schema == replace(schema, optional=True)


def test_a_field_that_another_transform_has_put_into_the_envelope_is_found() -> None:
    (found,) = all_found(references("__", ["changes"]), envelope(changes=INT64))
    assert (found.struct, found.name, found.is_inner) == ("source", "changes", False)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "nothing.id",
            "The envelope has no struct nothing, of which a field is added; it has: before, after, source, ",
        ),
        ("op.id", "Cannot look up fields on non-struct type"),
        ("source", "Struct schemas do not match."),
    ],
)
def test_what_cannot_be_added_is_an_error(text: str, message: str) -> None:
    with pytest.raises(DataError) as error:
        all_found(references("", [text]), ENVELOPE)
    assert str(error.value).startswith(message)

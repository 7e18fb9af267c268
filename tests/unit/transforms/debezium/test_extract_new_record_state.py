"""Options of ExtractNewRecordState, and the schemas of the records that it makes."""

import pytest

from connect_dagster.errors import ConfigError, DataError
from connect_dagster.plugin.schema import OPTIONAL_STRING_SCHEMA, STRING_SCHEMA
from connect_dagster.transforms.debezium.added_fields import all_found, references
from connect_dagster.transforms.debezium.extract_new_record_state import (
    DeleteHandling,
    Deletes,
    ExtractNewRecordState,
    ExtractNewRecordStateConfig,
)
from connect_dagster.transforms.debezium.row_shape import Dropped, row_shape
from tests.unit.transforms.debezium.change_events import ENVELOPE, ROW, names, struct

MODE, TOMBSTONES, OLD_MODE = "delete.tombstone.handling.mode", "drop.tombstones", "delete.handling.mode"
ADDED = all_found(references("__", ["op", "source.ts_ms"]), ENVELOPE)


@pytest.mark.parametrize(
    ("config", "deletes", "keeps"),
    [
        ({}, Deletes.NULL, False),
        ({MODE: "drop"}, Deletes.DROPPED, False),
        ({MODE: "tombstone"}, Deletes.NULL, False),
        ({MODE: "rewrite"}, Deletes.REWRITTEN, False),
        ({MODE: "Rewrite-With-Tombstone"}, Deletes.REWRITTEN, True),
        ({MODE: "delete-to-tombstone"}, Deletes.TOMBSTONE, False),
        ({TOMBSTONES: "false"}, Deletes.DROPPED, True),
        ({TOMBSTONES: "true"}, Deletes.DROPPED, False),
        ({OLD_MODE: "drop"}, Deletes.DROPPED, False),
        ({OLD_MODE: "none"}, Deletes.NULL, False),
        ({OLD_MODE: "REWRITE"}, Deletes.REWRITTEN, False),
        ({OLD_MODE: "none", TOMBSTONES: "false"}, Deletes.NULL, True),
        ({OLD_MODE: "rewrite", TOMBSTONES: "false"}, Deletes.REWRITTEN, True),
    ],
)
def test_old_and_new_options_for_deletes(config: dict[str, str], deletes: Deletes, keeps: bool) -> None:
    assert ExtractNewRecordStateConfig.parse(config).handling == DeleteHandling(deletes, keeps)


@pytest.mark.parametrize(("name", "text", "value"), [(TOMBSTONES, "true", "true"), (OLD_MODE, "none", "none")])
def test_old_and_new_options_exclude_each_other(name: str, text: str, value: str) -> None:
    with pytest.raises(ConfigError) as error:
        ExtractNewRecordStateConfig.parse({MODE: "drop", name: text})
    assert error.value.name == name
    assert str(error.value) == (
        f"Invalid value {value} for configuration {name}: {MODE} is set, which replaces it; leave one of them out"
    )
    checked = ExtractNewRecordStateConfig.validate_all({MODE: "drop", name: text})
    assert {one.name: len(one.errors) for one in checked if one.errors} == {name: 1}


@pytest.mark.parametrize(
    ("name", "value", "right"),
    [
        (MODE, "delete", ["DROP", "TOMBSTONE", "REWRITE", "REWRITE-WITH-TOMBSTONE", "DELETE-TO-TOMBSTONE"]),
        (OLD_MODE, "tombstone", ["DROP", "REWRITE", "NONE"]),
        (TOMBSTONES, "yes", ["true", "false"]),
        ("drop.fields.from.key", "1", ["true", "false"]),
        ("drop.fields.keep.schema.compatible", "1", ["true", "false"]),
        ("replace.null.with.default", "1", ["true", "false"]),
        ("add.fields", "a:b:c", ["struct.field:new_name"]),
        ("add.headers", "op,,ts_ms", ["struct.field:new_name"]),
    ],
)
def test_a_wrong_option_is_refused_with_what_would_be_right(name: str, value: str, right: list[str]) -> None:
    with pytest.raises(ConfigError) as error:
        ExtractNewRecordStateConfig.parse({name: value})
    assert error.value.name == name
    assert f"for configuration {name}: " in str(error.value)
    assert all(one in str(error.value) for one in right)


def test_only_a_header_makes_plans_depend_on_records() -> None:
    for config, deterministic in (({}, True), ({"drop.fields.header.name": "h"}, False), ({MODE: "rewrite"}, True)):
        transform = ExtractNewRecordState()
        transform.configure(config)
        assert transform.deterministic is deterministic


def test_rows_stay_whole_and_are_required() -> None:
    shape = row_shape(ROW, ())
    assert shape.is_whole(ROW)
    schema = shape.schema(ROW)
    assert (schema.name, schema.optional, schema.fields) == (ROW.name, False, ROW.fields)


def test_added_fields_come_last() -> None:
    shape = row_shape(ROW, ADDED, marked=True)
    assert not shape.is_whole(ROW)
    assert names(shape.schema(ROW)) == [
        "id int32",
        "name string?",
        "color string?",
        "__deleted string?",
        "__op string?",
        "__source_ts_ms int64?",
    ]


@pytest.mark.parametrize(("marked", "replace_null", "replaces"), [(True, True, True), (True, False, False)])
def test_marking_replaces_nulls_by_defaults(marked: bool, replace_null: bool, replaces: bool) -> None:
    assert row_shape(ROW, (), marked=marked, replace_null=replace_null).replaces_nulls is replaces
    assert not row_shape(ROW, (), replace_null=replace_null).replaces_nulls


def test_only_optional_fields_are_left_out_compatibly() -> None:
    dropped = Dropped(("id", "name", "__op", "none"))
    assert names(row_shape(ROW, ADDED, dropped).schema(ROW)) == ["id int32", "color string?", "__source_ts_ms int64?"]


def test_all_fields_are_left_out_otherwise() -> None:
    dropped = Dropped(("id", "name"), compatibly=False)
    assert names(row_shape(ROW, (), dropped).schema(ROW)) == ["color string?"]


def test_of_deletes_no_added_field_is_left_out() -> None:
    dropped = Dropped(("name", "__op", "__deleted"))
    schema = row_shape(ROW, ADDED, dropped, marked=True, deleted=True).schema(ROW)
    assert names(schema) == ["id int32", "color string?", "__op string?", "__source_ts_ms int64?"]


@pytest.mark.parametrize(
    ("dropped", "replaces"),
    [
        (Dropped(("id",)), False),
        (Dropped(("name",)), True),
        (Dropped(("__op",)), True),
        (Dropped(("missing",)), False),
        (Dropped(("missing",), compatibly=False), True),
        (Dropped((), compatibly=False), False),
    ],
)
def test_leaving_out_fields_replaces_nulls_as_replace_field_does(dropped: Dropped, replaces: bool) -> None:
    assert row_shape(ROW, ADDED, dropped).replaces_nulls is replaces


def test_one_field_in_place_of_another_is_not_the_whole_row() -> None:
    shape = row_shape(ROW, (), Dropped(("name",)), marked=True)
    assert len(shape.fields) == len(ROW.fields)
    assert not shape.is_whole(ROW)


def test_names_are_unique() -> None:
    row = struct("r", None, True, id=STRING_SCHEMA, __op=OPTIONAL_STRING_SCHEMA)
    with pytest.raises(DataError, match="Cannot create field because of field name duplication __op"):
        row_shape(row, ADDED)


def test_rows_are_structs() -> None:
    with pytest.raises(DataError, match=r"Only Struct objects supported for .*, found: java.lang.String"):
        row_shape(STRING_SCHEMA, ())

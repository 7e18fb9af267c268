"""Which test shows which option of a transform or predicate: option by Java's name, test by module and function."""

_STRUCTS = "test_field_transforms_against_java::test_structs"
_OBJECTS = "test_field_transforms_against_java::test_objects_without_schema"
_SINKS = "test_field_transforms_against_java::test_what_only_sinks_know"
_RECORDS = "test_record_transforms_against_java::test_"
_HEADERS = f"{_RECORDS}headers_dropped_and_inserted"
_HEADER_FROM = f"{_RECORDS}headers_from_fields"
_CHOSEN = "test_predicates_against_java::test_predicates_choose_as_in_java"

OPTIONS: dict[str, dict[str, str]] = {
    "Cast": {
        "spec": "test_field_transforms_against_java::test_casts_between_all_types",
        "replace.null.with.default": _STRUCTS,
    },
    "ExtractField": {"field": _STRUCTS, "replace.null.with.default": _STRUCTS, "field.syntax.version": _OBJECTS},
    "Flatten": {"delimiter": "test_field_transforms_against_java::test_flattened_structs"},
    "HoistField": {"field": _STRUCTS},
    "InsertField": {
        "topic.field": _STRUCTS,
        "partition.field": _SINKS,
        "offset.field": _SINKS,
        "timestamp.field": _SINKS,
        "static.field": _OBJECTS,
        "static.value": _OBJECTS,
        "replace.null.with.default": _STRUCTS,
    },
    "MaskField": {"fields": _STRUCTS, "replacement": _STRUCTS, "replace.null.with.default": _STRUCTS},
    "ReplaceField": {
        "exclude": _OBJECTS,
        "include": _OBJECTS,
        "renames": _STRUCTS,
        "replace.null.with.default": _STRUCTS,
    },
    "SetSchemaMetadata": {
        "schema.name": _STRUCTS,
        "schema.version": _STRUCTS,
        "replace.null.with.default": _STRUCTS,
    },
    "DropHeaders": {"headers": _HEADERS},
    "Filter": {},
    "HeaderFrom": {
        "fields": _HEADER_FROM,
        "headers": _HEADER_FROM,
        "operation": _HEADER_FROM,
        "replace.null.with.default": _HEADER_FROM,
    },
    "InsertHeader": {"header": _HEADERS, "value.literal": _HEADERS},
    "RegexRouter": {"regex": f"{_RECORDS}s4_01_regex_router", "replacement": f"{_RECORDS}s4_01_regex_router"},
    "TimestampConverter": {
        "field": f"{_RECORDS}timestamps_with_schema",
        "target.type": f"{_RECORDS}timestamps_with_schema",
        "format": f"{_RECORDS}patterns_are_javas",
        "unix.precision": f"{_RECORDS}units_of_numbers",
        "replace.null.with.default": f"{_RECORDS}defaults_of_fields",
    },
    "TimestampRouter": {
        "topic.format": f"{_RECORDS}timestamp_router",
        "timestamp.format": f"{_RECORDS}timestamp_router",
    },
    "HasHeaderKey": {"name": _CHOSEN},
    "RecordIsTombstone": {},
    "TopicNameMatches": {"pattern": _CHOSEN},
    "ValueToKey": {"fields": _STRUCTS, "replace.null.with.default": _STRUCTS},
}
"""By simple class name, for both of ``$Key`` and ``$Value``."""

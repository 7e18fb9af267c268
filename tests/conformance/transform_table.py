"""Which test shows which option of a transform or predicate: option by Java's name, test by module and function."""

_STRUCTS = "test_field_transforms_against_java::test_structs"
_OBJECTS = "test_field_transforms_against_java::test_objects_without_schema"
_SINKS = "test_field_transforms_against_java::test_what_only_sinks_know"

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
    "ValueToKey": {"fields": _STRUCTS, "replace.null.with.default": _STRUCTS},
}
"""By simple class name, for both of ``$Key`` and ``$Value``."""

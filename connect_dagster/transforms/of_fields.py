"""The transforms of fields that every worker has."""

from __future__ import annotations

from connect_dagster.plugin.converter import Transform
from connect_dagster.transforms.cast import CastKey, CastValue
from connect_dagster.transforms.extract_field import ExtractFieldKey, ExtractFieldValue
from connect_dagster.transforms.flatten import FlattenKey, FlattenValue
from connect_dagster.transforms.hoist_field import HoistFieldKey, HoistFieldValue
from connect_dagster.transforms.insert_field import InsertFieldKey, InsertFieldValue
from connect_dagster.transforms.mask_field import MaskFieldKey, MaskFieldValue
from connect_dagster.transforms.replace_field import ReplaceFieldKey, ReplaceFieldValue
from connect_dagster.transforms.set_schema_metadata import SetSchemaMetadataKey, SetSchemaMetadataValue
from connect_dagster.transforms.value_to_key import ValueToKey

FIELD_TRANSFORMS: tuple[type[Transform], ...] = (
    CastKey,
    CastValue,
    ExtractFieldKey,
    ExtractFieldValue,
    FlattenKey,
    FlattenValue,
    HoistFieldKey,
    HoistFieldValue,
    InsertFieldKey,
    InsertFieldValue,
    MaskFieldKey,
    MaskFieldValue,
    ReplaceFieldKey,
    ReplaceFieldValue,
    SetSchemaMetadataKey,
    SetSchemaMetadataValue,
    ValueToKey,
)
"""Java's, by name."""

"""Configuration definitions of plugins, with Kafka Connect's checks and texts.

A plugin author writes a :class:`ConfigDef`, a pydantic model whose fields are declared with :func:`config_key`.
Its data is a plain table of :class:`ConfigKey` rows, which the worker also builds by hand where the keys of several
plugins come together. Does not depend on plugin discovery: the caller passes the function that finds classes.
"""

from connect_dagster.plugin.config.infos import (
    config_infos,
    key_info,
    merge_infos,
    prefixed_infos,
    value_info,
)
from connect_dagster.plugin.config.keys import (
    NO_DEFAULT,
    ConfigKey,
    ConfigValue,
    Importance,
    NoDefault,
    Password,
    Recommender,
    Type,
    Validator,
    Width,
)
from connect_dagster.plugin.config.model import ConfigDef, config_group, config_key, under_prefix
from connect_dagster.plugin.config.table import ConfigTable
from connect_dagster.plugin.config.validators import (
    UniqueValues,
    all_of,
    at_least,
    between,
    no_control_characters,
    non_empty_string,
    non_null,
    one_of,
    one_of_ignoring_case,
)
from connect_dagster.plugin.config.values import FindClass, parse_value, to_text

__all__ = [
    "NO_DEFAULT",
    "ConfigDef",
    "ConfigKey",
    "ConfigTable",
    "ConfigValue",
    "FindClass",
    "Importance",
    "NoDefault",
    "Password",
    "Recommender",
    "Type",
    "UniqueValues",
    "Validator",
    "Width",
    "all_of",
    "at_least",
    "between",
    "config_group",
    "config_infos",
    "config_key",
    "key_info",
    "merge_infos",
    "no_control_characters",
    "non_empty_string",
    "non_null",
    "one_of",
    "one_of_ignoring_case",
    "parse_value",
    "prefixed_infos",
    "to_text",
    "under_prefix",
    "value_info",
]

"""Environment variables in values, and the missing ones."""

import os
from collections.abc import Mapping

import dagster as dg


def unset_variables(values: Mapping[str, object]) -> list[str]:
    """Return variables that are not set, each with its key: ``PASSWORD (for connection.password)``.

    Args:
        values: Values by name; those that are an ``EnvVar`` count.
    """
    return [
        f"{value.env_var_name} (for {name})"
        for name, value in values.items()
        if isinstance(value, dg.EnvVar) and value.env_var_name not in os.environ
    ]

"""Mark secret fields of Dagster resources, and warn of secrets that are written literally into them.

Dagster masks marked fields in its UI. It stores the defaults of all fields, marked or not, in the snapshots of jobs and
never removes them: a secret stays out of them as an ``EnvVar`` or as a placeholder of a config provider.
"""

import sys
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import dagster as dg
from pydantic.config import JsonDict

from connect_dagster.client.masking import is_placeholder, mask_config, mask_text

SECRET: JsonDict = {"dagster__is_secret": True}
# A URL is hidden in Dagster's UI, as it may have a password in it; texts show it with only the password masked.
SECRET_URL: JsonDict = {**SECRET, "connect_dagster__is_url": True}


class LiteralSecretWarning(UserWarning):
    """A secret is written literally into a resource, so that Dagster stores it in snapshots of jobs."""


class ResourceWithSecrets(dg.ConfigurableResource[Any]):
    """A resource that warns when a field marked with :data:`SECRET` or :data:`SECRET_URL` has a literal secret."""

    def __init__(self, **data: Any) -> None:
        super().__init__(**data)
        # Dagster creates the copies for runs, in which every EnvVar is a literal.
        if not sys._getframe(1).f_globals.get("__name__", "").startswith("dagster."):
            for place in _literal_secrets(self):
                warnings.warn(
                    f"{type(self).__name__}.{place} has a literal secret, which Dagster stores in snapshots of jobs: "
                    "give it as dg.EnvVar or as a placeholder such as ${file:…}",
                    LiteralSecretWarning,
                    stacklevel=2,
                )


def is_marked(extra: object, mark: JsonDict) -> bool:
    """Return True if the ``json_schema_extra`` of a field has a mark."""
    return isinstance(extra, Mapping) and mark.items() <= extra.items()


def _literal_secrets(resource: ResourceWithSecrets) -> Iterator[str]:
    """Yield the fields with literal secrets, ``field['key']`` for one entry."""
    for name, field in type(resource).model_fields.items():
        if not is_marked(field.json_schema_extra, SECRET):
            continue
        value = getattr(resource, name)
        is_url = is_marked(field.json_schema_extra, SECRET_URL)
        if isinstance(value, Mapping):
            # With the field's name, as a key Authorization is secret below headers.
            yield from (f"{name}['{key}']" for key, each in value.items() if _is_literal(f"{name}.{key}", each))
        elif isinstance(value, str) and (mask_text(value) != value if is_url else _is_written(value)):
            yield name


def _is_literal(key: str, value: object) -> bool:
    return isinstance(value, str) and _is_written(value) and mask_config({key: value})[key] != value


def _is_written(value: str) -> bool:
    return bool(value) and not isinstance(value, dg.EnvVar) and not is_placeholder(value)

"""The file of contexts: what leads to clusters, by names, one of which is current.

``contexts.json`` in the user's folder of configurations, or the file that ``CONNECT_DAGSTER_CONTEXTS`` names; its owner
alone may read it, as it may hold passwords.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import click

FILE_VARIABLE = "CONNECT_DAGSTER_CONTEXTS"
ACCESS_KEYS = (
    "username",
    "password",
    "token",
    "token_file",
    "ca_file",
    "ca_password",
    "cert_file",
    "key_file",
    "key_password",
)
"""Fields of :class:`Access` with an option of the same name."""
KEYS = ("url", *ACCESS_KEYS, "bootstrap_server", "command_config", "config_topic")
"""Names of options that a context may have; ``url`` is always there."""
SECRETS = frozenset({"password", "token", "ca_password", "key_password"})
Context = Mapping[str, str]
_OWNER_ALONE = 0o600


class ContextError(click.ClickException):
    """The file of contexts cannot be used, or has no such context."""

    exit_code = 2


@dataclass(frozen=True, slots=True)
class Contexts:
    """The contents of the file.

    Attributes:
        by_name: what leads to each cluster.
        current: the name of the one that commands use.
    """

    by_name: Mapping[str, Context] = field(default_factory=dict)
    current: str | None = None

    def named(self, name: str) -> Context:
        """Return a context. Raises ContextError when there is none of the name."""
        if name not in self.by_name:
            known = ", ".join(sorted(self.by_name)) or "none at all"
            raise ContextError(
                f"{file()} has no context {name}; it has {known}. `connect-dagster context set` adds one"
            )
        return self.by_name[name]

    def chosen(self, name: str | None) -> Context | None:
        """Return the context of a name, else the current one; ``None`` where there is neither."""
        wanted = name or self.current
        return None if wanted is None else self.named(wanted)


def file() -> Path:
    """Return the path of the file."""
    given = os.environ.get(FILE_VARIABLE)
    return Path(given) if given else Path(click.get_app_dir("connect-dagster")) / "contexts.json"


def read_contexts() -> Contexts:
    """Return what the file says; no contexts where there is none.

    Raises:
        ContextError: it cannot be read, or holds something else.
    """
    try:
        document = json.loads(file().read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Contexts()
    except OSError as error:
        raise ContextError(f"{file()} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise ContextError(f"{file()} is not valid JSON: {error}") from error
    return _contexts(document)


def context_names(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """Complete the name of a context in a shell."""
    try:
        return [name for name in sorted(read_contexts().by_name) if name.startswith(incomplete)]
    except ContextError:
        return []


def write_contexts(contexts: Contexts) -> None:
    """Replace the file, in a folder that is made where it does not exist.

    Raises:
        ContextError: it cannot be written.
    """
    document = {"current": contexts.current, "contexts": {name: dict(one) for name, one in contexts.by_name.items()}}
    path = file()
    draft = path.with_name(f"{path.name}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.touch(mode=_OWNER_ALONE)
        draft.chmod(_OWNER_ALONE)
        draft.write_text(f"{json.dumps(document, indent=2)}\n", encoding="utf-8")
        draft.replace(path)
    except OSError as error:
        raise ContextError(f"{path} cannot be written: {error.strerror}") from error


def _contexts(document: object) -> Contexts:
    shape = '{"current": NAME, "contexts": {NAME: {"url": …}, …}}'
    if not isinstance(document, dict) or not isinstance(document.get("contexts"), dict):
        raise ContextError(f"{file()} must hold {shape}")
    by_name, current = document["contexts"], document.get("current")
    for name, one in by_name.items():
        if not isinstance(one, dict) or not all(isinstance(value, str) for value in one.values()) or "url" not in one:
            raise ContextError(f"{file()}: context {name} must be texts by their names, among them url")
        if unknown := sorted(set(one) - set(KEYS)):
            raise ContextError(f"{file()}: context {name} has {', '.join(unknown)}, which is none of {', '.join(KEYS)}")
    if current is not None and current not in by_name:
        raise ContextError(f"{file()}: the current context {current} is none of {', '.join(by_name) or 'no contexts'}")
    return Contexts(by_name, current)

"""``connect-dagster context``: name clusters, and choose the one that commands ask."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import click

from connect_dagster.cli.contexts.context_file import (
    KEYS,
    SECRETS,
    Context,
    Contexts,
    context_names,
    file,
    read_contexts,
    write_contexts,
)
from connect_dagster.cli.table_text import table_text
from connect_dagster.client.masking import mask_text

_HELP = {
    "url": "REST address of a worker, which a new context must have.",
    "username": "User of its REST API.",
    "password": "That user's password.",
    "token": "Bearer token instead of a user.",
    "token_file": "File with it.",
    "ca_file": "Trusted certificates for https: PEM, PKCS12 or JKS.",
    "ca_password": "Password of that store.",
    "cert_file": "Client certificate for https.",
    "key_file": "Its private key as PEM, when that is another file.",
    "key_password": "Password of the key, or of the store.",
    "bootstrap_server": "Brokers, as host:port between commas.",
    "command_config": "Property file with settings of clients of the brokers.",
    "config_topic": "Topic with the configurations of connectors: config.storage.topic of the workers.",
}


name_argument = click.argument("name", shell_complete=context_names)


@click.group("context")
def context_command() -> None:
    """Name clusters, and choose the one that commands ask."""


@context_command.command("list")
@click.option("-J", "--json", "in_json", is_flag=True, help="Print JSON.")
def list_command(in_json: bool) -> None:
    """Print the contexts, without their secrets; the current one is marked."""
    contexts = read_contexts()
    if in_json:
        shown = {name: _shown(one) for name, one in contexts.by_name.items()}
        click.echo(json.dumps({"current": contexts.current, "contexts": shown}, indent=2))
        return
    rows = [
        ("*" if name == contexts.current else "", name, mask_text(one["url"]), one.get("bootstrap_server", ""))
        for name, one in sorted(contexts.by_name.items())
    ]
    click.echo(table_text(("CURRENT", "NAME", "URL", "BROKERS"), rows))


@context_command.command("set")
@name_argument
def set_command(name: str, **given: str | None) -> None:
    """Add a context, or change one: options that are not given stay, an empty value removes one.

    The first context is the current one. Secrets stay in the file, which only you can read; rather give them in the
    variables of the options.
    """
    contexts = read_contexts()
    changed = {**contexts.by_name.get(name, {}), **{key: value for key, value in given.items() if value is not None}}
    kept = {key: value for key, value in changed.items() if value}
    if "url" not in kept:
        raise click.UsageError(f"The context {name} needs a worker's address: --url http://127.0.0.1:8083")
    write_contexts(Contexts({**contexts.by_name, name: kept}, contexts.current or name))
    click.echo(f"{name}: {mask_text(kept['url'])}, in {file()}")


def _with_options(command: click.Command) -> None:
    option: Callable[..., Any] = click.option
    for key in KEYS:
        option(f"--{key.replace('_', '-')}", help=_HELP[key])(command)


_with_options(set_command)


@context_command.command("use")
@name_argument
def use_command(name: str) -> None:
    """Make a context the current one."""
    contexts = read_contexts()
    url = contexts.named(name)["url"]
    write_contexts(Contexts(contexts.by_name, name))
    click.echo(f"{name}: {mask_text(url)}")


@context_command.command("remove")
@name_argument
def remove_command(name: str) -> None:
    """Remove a context; without a current one commands ask the worker of their options."""
    contexts = read_contexts()
    contexts.named(name)
    others = {other: one for other, one in contexts.by_name.items() if other != name}
    write_contexts(Contexts(others, None if contexts.current == name else contexts.current))
    click.echo(f"{name}: removed")


def _shown(context: Context) -> dict[str, str]:
    return {key: "********" if key in SECRETS else mask_text(value) for key, value in context.items()}

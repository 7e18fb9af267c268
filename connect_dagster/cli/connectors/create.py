"""``connect-dagster create``: write a connector's file by questions that end when its validation finds no error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

import click

from connect_dagster.cli.connectors.config_questions import Config, Question, complete_config, open_questions
from connect_dagster.cli.connectors.connector_text import ENDINGS, connector_text
from connect_dagster.cli.connectors.patching import key_value_pairs
from connect_dagster.cli.connectors.plugin_choice import connector_plugin, connector_plugins
from connect_dagster.cli.connectors.rest_access import NOT_AS_WISHED, Trouble, asks_worker
from connect_dagster.cli.connectors.shell_completion import plugin_names
from connect_dagster.client.masking import mask_config, mask_text
from connect_dagster.client.option_pages import option_pages
from connect_dagster.client.rest_client import KafkaConnectClient
from connect_dagster.client.types import ConfigValidation, ConnectorPlugin

_CLASS = "connector.class"
_OWNER_ALONE = 0o600
_PLACEHOLDER = "${file:/etc/connect/secrets.properties:password}"


class _Plugins(Protocol):
    """Connectors that a worker, or this installation, has and validates."""

    @property
    def url(self) -> str:
        """REST address of the worker that will run the connector."""

    def plugins(self) -> list[ConnectorPlugin]:
        """Return the connector classes."""

    def validate(self, config: Mapping[str, str | None]) -> ConfigValidation:
        """Validate a configuration."""


class _IncompleteError(click.ClickException):
    """The configuration is not valid, and no question may be asked."""

    exit_code = NOT_AS_WISHED


@click.command("create")
@click.argument("connector_class", metavar="[CLASS]", required=False, shell_complete=plugin_names)
@click.option("-s", "--set", "given", metavar="KEY=VALUE", multiple=True, help="Give an option a value.")
@click.option("-a", "--ask", "wished", metavar="KEY", multiple=True, help="Ask for this option too.")
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File to write, by default NAME.properties. Its ending says what: .properties, .json for a create request, "
    ".yaml for Dagster's component.",
)
@click.option("--no-input", is_flag=True, help="Ask nothing: fail, with all that is missing.")
@click.option("--force", is_flag=True, help="Replace the file where it exists.")
@click.option("--installed", is_flag=True, help="Use the plugins installed here, without a worker.")
@asks_worker
def create_command(
    client: KafkaConnectClient,
    connector_class: str | None,
    given: Sequence[str],
    wished: Sequence[str],
    output: Path | None,
    no_input: bool,
    force: bool,
    installed: bool,
) -> None:
    """Write the file of a new connector.

    Asks for its class, its name, the required options, and those that the worker finds wrong, until it finds none.
    CLASS is whole or simple. `connect-dagster apply` takes the file.
    """
    if output is not None:
        _require_ending(output)
    if wished and no_input:
        raise click.UsageError("Give --ask or --no-input, not both")
    config: Config = dict(key_value_pairs(given))
    plugins, where = _plugins_of(client, installed=installed)
    plugin = _chosen_class(plugins, where, _named_class(connector_class, config), no_input=no_input)
    config = {**config, _CLASS: plugin}
    if no_input:
        _require_valid(plugins.validate(config), config)
    else:
        click.echo(f"The options of {plugin}: {', '.join(option_pages(plugin, [_CLASS]))}")
        config = complete_config(config, plugins.validate, _answer, wished)
    config = {"name": config["name"], _CLASS: plugin, **config}
    path = output or Path(f"{config['name']}.properties")
    if path.exists() and not force:
        path = _other_path(path, no_input=no_input)
    is_secret = mask_config(config, plugins.validate(config).secret_keys()) != config
    _write(
        path, connector_text(path, config, plugins.url), is_secret=is_secret or mask_text(plugins.url) != plugins.url
    )
    click.echo(f"{config['name']}: written to {path}\nNext: connect-dagster apply {path}")


def _plugins_of(client: KafkaConnectClient, *, installed: bool) -> tuple[_Plugins, str]:
    """Return the plugins, and what has them as errors name it."""
    if installed:
        # Loads PySpark, which a worker's plugins do without.
        from connect_dagster.cli.connectors.installed_plugins import InstalledPlugins

        return InstalledPlugins(), InstalledPlugins.where
    if not client.responds():
        raise Trouble(
            f"No worker responds at {mask_text(client.url)}. Start one, name another with --url, or use the plugins "
            "installed here with --installed"
        )
    return client, f"The worker at {mask_text(client.url)}"


def _named_class(argument: str | None, config: Mapping[str, str | None]) -> str | None:
    given = config.get(_CLASS)
    if argument and given and argument != given:
        raise click.UsageError(f"CLASS is {argument}, and --set {_CLASS} is {given}: give one of them")
    return argument or given


def _chosen_class(plugins: _Plugins, where: str, name: str | None, *, no_input: bool) -> str:
    found = connector_plugins(plugins.plugins())
    if name is not None:
        return connector_plugin(found, name, where).plugin_class
    classes = [each.plugin_class for each in found]
    if no_input or not classes:
        raise click.UsageError(f"Give a CLASS. {where} has {', '.join(classes) or 'no connector plugin'}")
    click.echo("\n".join(f"{number:>3}  {each.plugin_class}" for number, each in enumerate(found, start=1)))
    return _asked_class(found, where)


def _asked_class(found: Sequence[ConnectorPlugin], where: str) -> str:
    def chosen(text: str) -> str:
        if text.isdecimal() and 1 <= int(text) <= len(found):
            return found[int(text) - 1].plugin_class
        try:
            return connector_plugin(found, text, where).plugin_class
        except Trouble:
            raise click.BadParameter(f"{text} is neither a number of the list nor a connector class in it") from None

    plugin: str = click.prompt("Connector class, by number or name", value_proc=chosen)
    return plugin


def _answer(question: Question, config: Mapping[str, str | None]) -> str:
    """Ask a question on the terminal; an empty answer skips it."""
    click.echo()
    if question.documentation:
        click.echo(f"{question.key}: {question.documentation}")
    for error in () if question.is_missing else question.errors:
        click.secho(mask_text(error, [config], [question.key] if question.is_secret else ()), fg="yellow")
    if question.recommended:
        click.echo(f"Recommended: {', '.join(question.recommended)}")
    if question.is_secret:
        click.echo(f"A placeholder keeps the secret out of the file: {_PLACEHOLDER}")
    answer: str = click.prompt(
        question.key,
        default=question.default or "",
        show_default=bool(question.default) and not question.is_secret,
        hide_input=question.is_secret,
    )
    return answer


def _require_valid(validation: ConfigValidation, config: Mapping[str, str | None]) -> None:
    """Raise an error that lists all that is missing or wrong."""
    if questions := open_questions(validation):
        lines = [f"  {each.key}: {' '.join(each.errors)}" for each in questions]
        pages = ", ".join(option_pages(config[_CLASS] or "", [each.key for each in questions]))
        heading = "The configuration is not complete; give these with --set KEY=VALUE:"
        text = "\n".join([heading, *lines, f"See {pages}"])
        raise _IncompleteError(mask_text(text, [config], validation.secret_keys()))


def _require_ending(path: Path) -> None:
    if path.suffix not in ENDINGS:
        raise click.UsageError(f"--output {path} must end with {', '.join(ENDINGS)}")


def _other_path(path: Path, *, no_input: bool) -> Path:
    """Return where to write instead of an existing file, which may be the same."""
    if no_input:
        raise Trouble(f"{path} exists; --force replaces it")
    while path.exists() and not click.confirm(f"{path} exists. Replace it?"):
        path = click.prompt("File", value_proc=_path_with_ending)
    return path


def _path_with_ending(text: str) -> Path:
    try:
        _require_ending(Path(text))
    except click.UsageError:
        raise click.BadParameter(f"{text} must end with {', '.join(ENDINGS)}") from None
    return Path(text)


def _write(path: Path, text: str, *, is_secret: bool) -> None:
    """Write the file, which its owner alone may read when it holds a secret."""
    try:
        if is_secret:
            path.touch(mode=_OWNER_ALONE)
            path.chmod(_OWNER_ALONE)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise Trouble(f"{path} cannot be written: {error.strerror}") from error
    if is_secret:
        click.echo(f"{path} holds a secret: only you can read it. A placeholder keeps it out of the file.", err=True)

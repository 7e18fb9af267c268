"""``/connector-plugins``: list, describe, validate (Java: ``ConnectorPluginsResource``)."""

from __future__ import annotations

from connect_dagster.errors import BadRequestError, ConnectError
from connect_dagster.herder.interface import Herder
from connect_dagster.rest import entities
from connect_dagster.rest.documents import read_config
from connect_dagster.rest.exchange import Call, Endpoint, Reply
from connect_dagster.rest.openapi_schemas import FLAG, TEXT, entity, listed, returns

ALIAS_SUFFIX = "Connector"
LATEST = "latest"


def list_plugins(herder: Herder, call: Call) -> Reply:
    """Connectors, or with ``connectorsOnly=false`` all plugins."""
    plugins = herder.plugins(connectors_only=call.flag("connectorsOnly", default=True))
    return Reply.json([entities.plugin(info) for info in plugins])


def plugin_config(herder: Herder, call: Call) -> Reply:
    """Configuration keys of a plugin."""
    version = call.first("version") or LATEST
    return Reply.json(herder.plugin_config(call.params["plugin"], None if version == LATEST else version))


def validate_config(herder: Herder, call: Call) -> Reply:
    """Check a configuration against the keys of its connector."""
    config = read_config(call.body)
    requested, included = call.params["plugin"], config.get("connector.class")
    if included is not None and not _pruned(included).endswith(_pruned(requested)):
        raise BadRequestError(f"Included connector type {included} does not match request type {requested}")
    try:
        return Reply.json(herder.validate(config))
    except BadRequestError as error:
        # Java loses the status here: the validation runs in a future whose failure is wrapped.
        raise ConnectError(f"{error.java_name}: {error}") from error


def _pruned(name: str) -> str:
    return name.removesuffix(ALIAS_SUFFIX) or name


_LISTED = returns(listed("PluginInfo"), query={"connectorsOnly": {**FLAG, "default": True}})
_DESCRIBED = returns(listed("ConfigKeyInfo"), query={"version": TEXT})
_VALIDATED = returns(entity("ConfigInfos"), body=entity("Config"))

ROUTES = (
    Endpoint("GET", "/connector-plugins", list_plugins, _LISTED),
    Endpoint("GET", "/connector-plugins/{plugin}/config", plugin_config, _DESCRIBED),
    Endpoint("PUT", "/connector-plugins/{plugin}/config/validate", validate_config, _VALIDATED, reads_body=True),
)

"""Checks of a source connector's transactions, as far as its configuration asks for them (KIP-618).

Java: ``validateSourceConnectorExactlyOnceSupport`` and ``validateSourceConnectorTransactionBoundary`` of
``DistributedHerder``.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence

from connect_dagster.plugin.config import ConfigValue
from connect_dagster.plugin.connector import (
    Connector,
    ConnectorTransactionBoundaries,
    ExactlyOnceSupport,
    SourceConnector,
)

log = logging.getLogger(__name__)

_SUPPORT, _BOUNDARY = "exactly.once.support", "transaction.boundary"
_DISABLED = "This worker does not have exactly-once source support enabled."
_UNKNOWN = (
    "The connector does not implement the API required for preflight validation of exactly-once source support. "
    "Please consult the documentation for the connector to determine whether it supports exactly-once semantics, and "
    'then consider reconfiguring the connector to use the value "requested" for this property (which will disable this '
    "preflight check and allow the connector to be created)."
)
_UNSUPPORTED = "The connector does not support exactly-once semantics with the provided configuration."
_NULL_BOUNDARIES = (
    "This connector has returned a null value from its canDefineTransactionBoundaries method, which is not permitted. "
    "The connector will be treated as if it cannot define its own transaction boundaries, and cannot be configured "
    f"with '{_BOUNDARY}' set to 'connector'."
)
_NO_BOUNDARIES = (
    "The connector does not support connector-defined transaction boundaries with the given configuration. Please "
    "reconfigure it to use a different transaction boundary definition."
)


def add_exactly_once_errors(
    plugin: type[Connector], config: Mapping[str, str | None], values: Sequence[ConfigValue], *, enabled: bool
) -> None:
    """Add what speaks against exactly-once to the values of its keys.

    Args:
        plugin: the connector's class.
        config: the connector's configuration.
        values: the checked values of the framework's keys.
        enabled: whether the worker writes in transactions.
    """
    by_name = {value.name: value for value in values}
    support, boundary = by_name[_SUPPORT], by_name[_BOUNDARY]
    if not support.errors and (config.get(_SUPPORT) or "").lower() == "required":
        support.errors += _objections(plugin, config, enabled=enabled)
    if not boundary.errors and (config.get(_BOUNDARY) or "").lower() == "connector":
        boundary.errors += _boundary_objections(plugin, config)


def _objections(plugin: type[Connector], config: Mapping[str, str | None], *, enabled: bool) -> Iterator[str]:
    if not enabled:
        yield _DISABLED
    try:
        answer = _source(plugin).exactly_once_support(_given(config))
    except Exception as error:
        log.exception("Failed while validating connector support for exactly-once semantics")
        yield _unexpected(error)
        return
    if answer is None:
        yield _UNKNOWN
    elif answer is ExactlyOnceSupport.UNSUPPORTED:
        yield _UNSUPPORTED


def _boundary_objections(plugin: type[Connector], config: Mapping[str, str | None]) -> Iterator[str]:
    try:
        answer: object = _source(plugin).can_define_transaction_boundaries(_given(config))
    except Exception as error:
        log.exception("Failed while validating connector support for defining its own transaction boundaries")
        yield _unexpected(error)
        return
    if answer is None:
        yield _NULL_BOUNDARIES
    elif answer is not ConnectorTransactionBoundaries.SUPPORTED:
        yield _NO_BOUNDARIES


def _source(plugin: type[Connector]) -> SourceConnector:
    assert issubclass(plugin, SourceConnector)
    return plugin()


def _given(config: Mapping[str, str | None]) -> dict[str, str]:
    return {name: value for name, value in config.items() if value is not None}


def _unexpected(error: Exception) -> str:
    text = str(error).strip()
    return "An unexpected error occurred during validation" + (
        f": {text}" if text else "; please see the worker logs for more details."
    )

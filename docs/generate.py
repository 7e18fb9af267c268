"""Reference pages made from the code: ``make docs`` writes them, a test fails when they are stale."""

import importlib
import inspect
import pkgutil
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import connect_dagster
from connect_dagster.errors import ConnectError
from connect_dagster.herder.distributed.config import DistributedConfig
from connect_dagster.isolation.plugins import Kind, PluginDescription, Plugins
from connect_dagster.plugin.config import NO_DEFAULT, ConfigKey, Importance
from connect_dagster.rest.roles import RoleSettings
from connect_dagster.rest.tls import TlsSettings
from connect_dagster.worker.config.rate_limit import RateLimitConfig
from connect_dagster.worker.config.sink import SinkConnectorConfig
from connect_dagster.worker.config.source import SourceConnectorConfig
from connect_dagster.worker.config.worker import StandaloneConfig, WorkerConfig
from connect_dagster.worker.logs.options import LoggingConfig

FOLDER = Path(__file__).parent / "reference"
_NOTE = "<!-- Written by `make docs` from the code; changes made here are lost. -->"
_NO_ERRORS_IN = ("connect_dagster.cli", "connect_dagster.orchestration")
_CONVERTERS = (Kind.CONVERTER, Kind.HEADER_CONVERTER)
_TRANSFORMS = (Kind.TRANSFORMATION, Kind.PREDICATE)

REMEDIES: Mapping[str, str] = {
    "AlreadyExistsError": "Choose another name, or change the connector with `PUT /connectors/NAME/config`.",
    "BadRequestError": "Correct the request as the text says.",
    "BadSignalError": "Send the signal again, with the data that the worker's log says is wrong corrected.",
    "ConfigError": "Correct the key that the text names. `PUT /connector-plugins/CLASS/config/validate` checks a "
    "configuration before it is used.",
    "ConnectError": "Read the text and the trace in the task's status; correct the cause and restart the task.",
    "CostlyPatternError": "Write the expression without several `.*` in a row or repetitions within repetitions.",
    "DataError": "Correct the record at its source, or set `errors.tolerance=all` with a dead letter queue.",
    "DatabaseError": "Read the database's own text; correct the SQL, the login or the rights.",
    "DatabaseUnavailableError": "Nothing: the task tries again. When it lasts, check that the database responds.",
    "IncompatibleTargetError": "Update the brokers of the target to Kafka 2.3 or newer, or set "
    "`sync.topic.configs.enabled=false`.",
    "ListenerUnavailable": "End the process that holds the port, or choose another in `listeners`.",
    "LogEndedError": "Nothing where the server stopped or was restarted: the task reads on. Else do as the server's "
    "text says.",
    "NotAssignedError": "Nothing: the worker forwards the request to the worker that runs the connector or task.",
    "NotFoundError": "Check the name: `connect-dagster list` shows connectors, `GET /connector-plugins` plugins.",
    "NotLeaderError": "Nothing: the worker forwards the request to the leader.",
    "NotPermittedError": "Nothing: the worker joins the group again. When it repeats, compare `session.timeout.ms` "
    "with the pauses of the machine.",
    "OffsetsMovedError": "Nothing: the task continues from the offsets in the database.",
    "OffsetsRefusedError": "Give the user of `connection.user` the right to write the offsets table.",
    "PrivilegedWriteError": "Send the request again: a leader claims its privilege once more.",
    "PutFailedError": "Read the cause in the trace; correct it and restart the task. The records are read again.",
    "RebalanceNeededError": "Send the request again in some seconds, as `connect-dagster` and Dagster's resources do.",
    "RecordError": "As for DataError; the dead letter queue's headers name the stage and the record.",
    "RequestTargetError": "Nothing: the worker forwards the request.",
    "RestError": "Depends on the status and the text of the response.",
    "RetriableError": "Nothing: the worker calls again, in a transform or converter until `errors.retry.timeout`. "
    "When it lasts, check the system that the text names.",
    "RewindError": "Nothing: the task reads what it can, and tries the rest again. When it lasts, check brokers and "
    "rights of the topics that the text names.",
    "SkippedTableError": "Correct the cause that the worker's log names, and signal the snapshot of the table again.",
    "SourceAwayError": "Nothing: the task tries again. When it lasts, check that the brokers of the source respond.",
    "TableError": "Create or alter the table, or allow it with `auto.create` and `auto.evolve`.",
    "ToleranceExceededError": "Correct the record, or set `errors.tolerance=all` with a dead letter queue.",
    "TooManyTasksError": "Raise `tasks.max`, or lower the number of tasks in the connector's own options.",
    "TopicMissingError": "Create the topic again with `cleanup.policy=compact`, see "
    "[workers](../workers.md); what it held is lost.",
    "TransactionFailedError": "Read the brokers' own text; correct the record, the rights or the topic, and restart "
    "the task.",
    "TransactionTimeoutError": "As the text says; where another task has taken its place, nothing.",
    "UnknownTopicError": "Nothing: the transaction is repeated.",
    "UnreadableRequest": "Send a JSON body of the form that `/openapi.json` describes.",
}
"""Remedies by the class of the error."""


def pages() -> dict[str, str]:
    """Return the text of each reference page by its file name."""
    plugins = Plugins()
    return {
        "worker_options.md": _worker_options(),
        "connector_options.md": _connector_options(plugins),
        "converter_options.md": _plugin_options(
            "Options of converters",
            "The prefix is the side that the converter serves: `key.converter.`, `value.converter.` or "
            "`header.converter.`.",
            plugins,
            _CONVERTERS,
        ),
        "transform_options.md": _plugin_options(
            "Options of transforms and predicates",
            "The prefix is `transforms.<alias>.` or `predicates.<alias>.`.",
            plugins,
            _TRANSFORMS,
        ),
        "errors.md": _errors(),
    }


def _worker_options() -> str:
    shared = {key.name for key in WorkerConfig.table()}
    return _page(
        "Options of workers",
        "The file of a worker is a Java properties file. [Workers](../workers.md) shows the options at work. Options "
        "with the prefixes `producer.`, `consumer.`, `admin.`, `key.converter.`, `value.converter.`, "
        "`header.converter.`, `config.providers.` and `spark.` go to clients, converters, config providers and Spark.",
        {
            "Both modes": _rows(WorkerConfig.table()),
            "Log": _rows(LoggingConfig.table()),
            "Standalone mode": _rows(key for key in StandaloneConfig.table() if key.name not in shared),
            "Distributed mode": _rows(key for key in DistributedConfig.table() if key.name not in shared),
            "`RoleRestExtension`, see [access to the REST API](../security.md)": _rows(RoleSettings.table()),
            "TLS of listeners, with the prefix `listeners.https.` or `admin.listeners.https.`, or without one": _rows(
                TlsSettings.table()
            ),
        },
    )


def _connector_options(plugins: Plugins) -> str:
    source, sink = SourceConnectorConfig.table(), SinkConnectorConfig.table()
    both = {key.name for key in source} & {key.name for key in sink}
    sections = {
        "All connectors": _rows(key for key in source if key.name in both),
        "Source connectors": _rows(key for key in source if key.name not in both),
        "Sink connectors": _rows(key for key in sink if key.name not in both),
    }
    sections["Rate limits of all connectors"] = _rows(RateLimitConfig.table())
    sections |= _sections(plugins.all((Kind.SOURCE, Kind.SINK)))
    return _page(
        "Options of connectors",
        "Every connector takes the options of its kind and its own. Options with the prefixes `producer.override.`, "
        "`consumer.override.` and `admin.override.` go to its Kafka clients.",
        sections,
    )


def _plugin_options(title: str, introduction: str, plugins: Plugins, kinds: tuple[Kind, ...]) -> str:
    return _page(title, introduction, _sections(plugins.all(kinds)))


def _sections(plugins: list[PluginDescription[Any]]) -> dict[str, str]:
    return {f"`{one.class_name}`": _rows(one.plugin.config_def.table()) for one in plugins}


def _page(title: str, introduction: str, sections: Mapping[str, str]) -> str:
    parts = [_NOTE, f"# {title}", introduction]
    parts += [f"## {heading}\n\n{rows}" for heading, rows in sections.items()]
    return "\n\n".join(parts) + "\n"


def _rows(keys: Iterable[ConfigKey]) -> str:
    rows = [
        f"| `{key.name}` | {key.type.value.lower()} | {_default(key)} | {key.importance.value.lower()} "
        f"| {_cell(key.documentation)} |"
        for key in sorted(keys, key=lambda key: list(Importance).index(key.importance))
    ]
    if not rows:
        return "No options."
    return "\n".join(["| option | type | default | importance | meaning |", "|---|---|---|---|---|", *rows])


def _default(key: ConfigKey) -> str:
    if key.default is NO_DEFAULT:
        return "required"
    if key.default is None:
        return "null"
    if isinstance(key.default, bool):
        return f"`{str(key.default).lower()}`"
    text = ",".join(key.default) if isinstance(key.default, tuple) else str(key.default)
    return f"`{_cell(text)}`" if text.strip() else "empty"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def _errors() -> str:
    rows = [
        f"| `{error.__name__}` | `{error.java_name}` | {_status(error)} | {_cell(_meaning(error))} | "
        f"{REMEDIES[error.__name__]} |"
        for error in sorted(_error_classes(), key=lambda error: error.__name__)
    ]
    table = "\n".join(["| error | Java's class | REST status | meaning | remedy |", "|---|---|---|---|---|", *rows])
    return _page(
        "Errors",
        "Traces in statuses and dead letter queues begin with Java's class, as users know it from Kafka Connect. A "
        "task that ends with one is FAILED; `GET /connectors/NAME/status` has its trace.",
        {"By class": table},
    )


def _error_classes() -> set[type[ConnectError]]:
    for module in pkgutil.walk_packages(connect_dagster.__path__, "connect_dagster."):
        if not module.name.startswith(_NO_ERRORS_IN):
            importlib.import_module(module.name)
    found, known = [ConnectError], {ConnectError}
    while found:
        for error in found.pop().__subclasses__():
            if error not in known and error.__module__.startswith("connect_dagster."):
                known.add(error)
                found.append(error)
    return known


def _status(error: type[ConnectError]) -> str:
    if error.__name__ == "RestError":
        return "its own"
    return "400" if error.__name__ == "BadRequestError" else str(error.status)


def _meaning(error: type[ConnectError]) -> str:
    text = (inspect.getdoc(error) or "").split("\n\n")[0].replace("``", "`")
    return text.partition(" (Java:")[0].rstrip(".") + "."


def main() -> None:
    """Write all pages."""
    FOLDER.mkdir(exist_ok=True)
    for name, text in pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    sys.stdout.write(f"{len(pages())} pages in {FOLDER.relative_to(Path.cwd())}\n")


if __name__ == "__main__":
    main()

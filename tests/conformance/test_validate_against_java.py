"""Validation of connector configurations beside Java's: the same configurations, ConfigInfos compared leaf by leaf.

Documentation texts are ours and not compared, nor are recommended plugins, as each side recommends those it has.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import requests
from pyspark.sql import SparkSession

from connect_dagster.errors import BadRequestError, ConnectError
from connect_dagster.herder.validation.validator import Validator
from connect_dagster.isolation.plugins import Plugins
from connect_dagster.kafka.settings import ClientKind, definitions
from connect_dagster.plugin.config import Type
from connect_dagster.worker.config.worker import StandaloneConfig
from tests.conformance.java_connect import JavaStandalone
from tests.conftest import Broker
from tests.golden_answers import Golden

FULL_SINK = "org.apache.kafka.connect.file.FileStreamSinkConnector"
JSON = "org.apache.kafka.connect.json.JsonConverter"
BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"
STRING = "org.apache.kafka.connect.storage.StringConverter"
SIMPLE = "org.apache.kafka.connect.storage.SimpleHeaderConverter"

Config = dict[str, str | None]


def source(**more: str | None) -> Config:
    return {"name": "c", "connector.class": "FileStreamSource", "topic": "t", "file": "/f"} | _dotted(more)


def sink(**more: str | None) -> Config:
    return {"name": "c", "connector.class": "FileStreamSink", "topics": "t", "file": "/f"} | _dotted(more)


def _dotted(more: Mapping[str, str | None]) -> Config:
    return {name.replace("_", "."): value for name, value in more.items()}


def without(config: Config, name: str) -> Config:
    return {key: value for key, value in config.items() if key != name}


def _every(kind: ClientKind) -> Config:
    """An override of each setting of a client, but for classes, which Java would load."""
    values = {
        Type.BOOLEAN: "false",
        Type.STRING: "text",
        Type.INT: "7",
        Type.SHORT: "7",
        Type.LONG: "7",
        Type.DOUBLE: "0.5",
        Type.LIST: "a,b",
        Type.PASSWORD: "secret",
    }
    return {f"{kind.value}.override.{key.name}": values[key.type] for key in definitions(kind) if key.type in values}


CASES: dict[str, Config] = {
    "source": source(),
    "sink": sink(),
    "sink by class": sink() | {"connector.class": FULL_SINK},
    "no name": without(sink(), "name"),
    "control character in name": source(name="a\nb"),
    "no topic": without(source(), "topic"),
    "empty topic": source(topic=""),
    "unknown key": source(foo="bar"),
    "null for unknown key": source(foo=None),
    "null topic": source(topic=None),
    "null name": source(name=None),
    "null tasks.max": source(tasks_max=None),
    "null transforms": source(transforms=None),
    "null class": source(connector_class=None),
    "no class": without(source(), "connector.class"),
    "unknown class": source(connector_class="Nope"),
    "converter as connector": source(connector_class=JSON),
    "both topics and regex": sink(topics_regex="a"),
    "neither topics nor regex": without(sink(), "topics"),
    "bad regex": without(sink(topics_regex="a("), "topics"),
    "topic twice": sink(topics="a,a"),
    "dead letters to a topic read": sink(errors_deadletterqueue_topic_name="t"),
    "bad numbers": source(tasks_max="x", batch_size="y", errors_retry_timeout="1.5"),
    "tasks.max 0": source(tasks_max="0"),
    "tasks.max with blanks": source(tasks_max=" 2 "),
    "words": source(errors_tolerance="x", config_action_reload="y", exactly_once_support="z"),
    "unknown key converter": source(key_converter="no.Such"),
    "unknown header converter": source(header_converter="Nope"),
    "empty converter": source(value_converter=""),
    "connector as converter": source(value_converter=FULL_SINK),
    "json converter": source(value_converter=JSON),
    "json converter by alias": source(value_converter="Json"),
    "json converter, options": source(
        value_converter=JSON,
        value_converter_schemas_enable="false",
        value_converter_decimal_format="numeric",
        value_converter_schemas_cache_size="a",
        value_converter_foo="x",
    ),
    "json converter for keys": sink(key_converter=JSON, key_converter_schemas_enable="x"),
    "json converter for headers": source(header_converter=JSON, header_converter_schemas_enable="no"),
    "simple header converter": source(header_converter=SIMPLE),
    "string converter": sink(key_converter=STRING, value_converter=BYTES),
    "all converters": sink(key_converter=STRING, value_converter=BYTES, header_converter=JSON),
    "converter version": source(value_converter=JSON, value_converter_plugin_version="[4,5)"),
    "other converter version": source(value_converter=JSON, value_converter_plugin_version="9"),
    "bad converter version": source(value_converter=JSON, value_converter_plugin_version="["),
    "version without converter": source(value_converter_plugin_version="4.3.1"),
    "version": source(connector_plugin_version="4.3.1"),
    "latest version": source(connector_plugin_version="latest"),
    "range of versions": source(connector_plugin_version="[4,5)"),
    "other version": source(connector_plugin_version="1.0"),
    "bad version": source(connector_plugin_version="["),
    "transform without type": source(transforms="a"),
    "unknown transform": source(transforms="a", transforms_a_type="Nope"),
    "empty transform": source(transforms="a", transforms_a_type=""),
    "transform twice": source(transforms="a,a", transforms_a_type="Nope"),
    "two transforms": source(transforms="a, b", transforms_a_type="Nope"),
    "transform that is not named": source(transforms_a_type="Nope"),
    "negate without predicate": source(transforms="a", transforms_a_type="Nope", transforms_a_negate="true"),
    "connector as transform": source(transforms="a", transforms_a_type=FULL_SINK),
    "predicate without type": source(predicates="p"),
    "unknown predicate": source(predicates="p", predicates_p_type="Nope"),
    "predicate twice": source(predicates="p,p", predicates_p_type="Nope"),
    "producer override": source(producer_override_compression_type="gzip", producer_override_acks="1"),
    "unknown producer override": source(producer_override_foo="x"),
    "bad producer override": source(producer_override_linger_ms="x"),
    "null producer override": source(producer_override_linger_ms=None),
    "overrides a source has no client for": source(consumer_override_max_poll_records="5", admin_override_a="b"),
    "consumer override": sink(consumer_override_max_poll_records="5", producer_override_acks="1"),
    "overrides of dead letters": sink(
        errors_deadletterqueue_topic_name="dlq",
        admin_override_request_timeout_ms="5",
        producer_override_acks="1",
        consumer_override_group_id="g",
    ),
    "topic creation twice": source(topic_creation_groups="a,a"),
    "topic creation without default": source(topic_creation_groups="a", topic_creation_a_include="x"),
    "topic creation with an admin override": source(
        topic_creation_default_partitions="1",
        topic_creation_default_replication_factor="x",
        admin_override_request_timeout_ms="5",
    ),
    "every producer override": source() | _every(ClientKind.PRODUCER),
    "every consumer override": sink() | _every(ClientKind.CONSUMER),
    "every admin override": source(topic_creation_default_partitions="1") | _every(ClientKind.ADMIN),
}

LOCATION = "the places of the plugins differ, and Java has more of them"
# By case, the leaves that differ, each with its reason; every one listed must differ.
DIFFERENCES: dict[str, dict[str, str]] = {
    "null topic": {
        "error_count": "Java accepts null here and fails in the task",
        "configs.topic.value.errors": "Java accepts null here and fails in the task",
    },
    "unknown class": {"message": LOCATION},
    "converter as connector": {"message": LOCATION},
    "other converter version": {
        "configs.value.converter.value.errors.0": "Java lists the class twice: as converter and as header converter",
        "configs.value.converter.plugin.version.value.errors.0": "likewise",
    },
    "bad producer override": {"": "Java answers 500 instead of an error of the key"},
}
# Keys of our file source that Java's does not have.
OURS_ALONE = {"invalid.utf8"}
# Java's sinks have a dead letter queue; of ours, sources have one too, with the same keys.
SOURCES_OURS_ALONE = {
    "errors.deadletterqueue.topic.name",
    "errors.deadletterqueue.topic.replication.factor",
    "errors.deadletterqueue.context.headers.enable",
}


# No address is used: validation asks no broker.
PROPS = {"bootstrap.servers": "127.0.0.1:9092", "key.converter": JSON, "value.converter": JSON}


@pytest.fixture(scope="module")
def java(
    golden: Golden, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator["JavasAnswers"]:
    with ExitStack() as workers:

        def start(props: Mapping[str, str]) -> str:
            broker: Broker = request.getfixturevalue("broker")
            servers = {"bootstrap.servers": broker.bootstrap_servers}
            folder = tmp_path_factory.mktemp("java")
            return workers.enter_context(JavaStandalone({**props, **servers}, [], folder)).rest_url

        yield JavasAnswers(golden, start)


class JavasAnswers:
    """Answers of Java's workers: recorded ones, or those of a worker that starts at the first question.

    Args:
        golden: The recorded ones.
        start: Starts a worker with properties, returns its URL.
    """

    def __init__(self, golden: Golden, start: Callable[[Mapping[str, str]], str]) -> None:
        self._golden = golden
        self._started = cache(lambda policy: start(PROPS | ({POLICY: policy} | ALLOWED if policy else {})))

    def infos(self, case: str, policy: str = "") -> dict[str, Any]:
        """Return the ConfigInfos of a case, under a policy of overrides."""

        def ask() -> dict[str, Any]:
            config = CASES[case]
            plugin = (config.get("connector.class") or "any").rpartition(".")[2]
            url = f"{self._started(policy)}/connector-plugins/{plugin}/config/validate"
            return _compared(requests.put(url, json=config, timeout=60).json())

        return dict(self._golden.answer(f"{case}, {policy}" if policy else case, ask))

    def keys(self, plugin: str, version: str) -> Any:
        """Return the keys of a plugin, or the error."""

        def ask() -> Any:
            query = f"?version={version}" if version else ""
            url = f"{self._started('')}/connector-plugins/{plugin}/config{query}"
            answer = requests.get(url, timeout=60).json()
            return answer if isinstance(answer, dict) else [_facts(key) for key in answer]

        return self._golden.answer(f"keys of {plugin} {version}", ask)


@pytest.fixture(scope="module")
def ours(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Validator:
    """The validator of a worker, which has Java's engine for expressions."""
    plugins, offsets = Plugins(), tmp_path_factory.mktemp("ours") / "offsets"
    props = PROPS | {"offset.storage.file.filename": str(offsets)}
    return Validator(plugins, StandaloneConfig.parse(props, plugins.find_class))


@pytest.mark.parametrize("case", CASES)
def test_config_infos_are_javas(java: JavasAnswers, ours: Validator, case: str) -> None:
    differing = dict(_leaves("", java.infos(case), _our_infos(ours, CASES[case])))
    allowed = DIFFERENCES.get(case, {})
    if "" in allowed:
        assert differing
        return
    assert not {path: both for path, both in differing.items() if path not in allowed}
    assert not allowed.keys() - differing.keys(), "no difference any more"


def test_an_override_of_another_type_is_an_error_of_its_key(ours: Validator) -> None:
    infos = ours.validate(CASES["bad producer override"])
    errors = {one["value"]["name"]: one["value"]["errors"] for one in infos["configs"] if one["value"]["errors"]}
    refused = "Invalid value x for configuration linger.ms: Not a number of type LONG"
    assert errors == {"producer.override.linger.ms": [refused]}
    assert infos["error_count"] == 1


PLUGIN_CONFIGS = [
    ("FileStreamSource", ""),
    ("FileStreamSink", "latest"),
    (FULL_SINK, "4.3.1"),
    ("FileStreamSource", "[4,5)"),
    ("FileStreamSource", "1"),
    ("FileStreamSource", "["),
    ("Nope", "1"),
    ("Json", ""),
    ("StringConverter", ""),
    (BYTES, "latest"),
]


@pytest.mark.parametrize(("plugin", "version"), PLUGIN_CONFIGS)
def test_keys_of_plugins_are_javas(java: JavasAnswers, ours: Validator, plugin: str, version: str) -> None:
    answer = java.keys(plugin, version)
    if isinstance(answer, dict):
        with pytest.raises(ConnectError) as raised:
            ours.plugin_config(plugin, version or None)
        assert str(raised.value) == answer["message"]
        assert raised.value.status == answer["error_code"]
        return
    keys = ours.plugin_config(plugin, version or None)
    alone = OURS_ALONE | SOURCES_OURS_ALONE if "Source" in plugin else OURS_ALONE
    assert [_facts(key) for key in keys if key["name"] not in alone] == answer


def _facts(key: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in key.items() if name != "documentation"}


def _our_infos(validator: Validator, config: Config) -> dict[str, Any]:
    try:
        return _compared(validator.validate(config))
    except BadRequestError as error:
        # As the endpoint words it.
        return {"error_code": 500, "message": f"{error.java_name}: {error}"}


def _compared(infos: dict[str, Any]) -> dict[str, Any]:
    """Infos without what is not compared."""
    if "configs" in infos:
        names = {one["value"]["name"] for one in infos["configs"]}
        alone = OURS_ALONE if "topics" in names else OURS_ALONE | SOURCES_OURS_ALONE
        kept = [one for one in infos["configs"] if one["value"]["name"] not in alone]
        infos["configs"] = [[one["value"]["name"], _without_plugins(one)] for one in kept]
    return infos


def _without_plugins(one: dict[str, Any]) -> dict[str, Any]:
    value, definition = dict(one["value"]), one["definition"]
    if definition is not None and definition["type"] == "CLASS":
        del value["recommended_values"]
    return {"definition": None if definition is None else _facts(definition), "value": value}


def _leaves(path: str, java: Any, ours: Any) -> Iterator[tuple[str, tuple[Any, Any]]]:
    """Where two documents differ, with both values; pairs of a name and an object are named by the name."""
    if isinstance(java, dict) and isinstance(ours, dict) and list(java) == list(ours):
        for name in java:
            yield from _leaves(f"{path}.{name}".lstrip("."), java[name], ours[name])
    elif isinstance(java, list) and isinstance(ours, list) and len(java) == len(ours):
        for number, (left, right) in enumerate(zip(java, ours, strict=True)):
            match left, right:
                case [str(name), dict(theirs)], [str(same), dict(our)] if name == same:
                    yield from _leaves(f"{path}.{name}", theirs, our)
                case _:
                    yield from _leaves(f"{path}.{number}", left, right)
    elif java != ours:
        yield path, (java, ours)


POLICIES = {
    "None": ["producer.override.compression.type", "producer.override.acks"],
    "Principal": ["producer.override.compression.type", "producer.override.acks"],
    "All": [],
    "Allowlist": ["producer.override.compression.type"],
}
POLICY = "connector.client.config.override.policy"
ALLOWED = {"connector.client.config.override.allowlist": "acks, acks"}


@pytest.mark.parametrize("policy", POLICIES)
def test_s4_12_overrides_that_the_policy_does_not_allow(java: JavasAnswers, tmp_path: Path, policy: str) -> None:
    props, plugins = PROPS | {POLICY: policy} | ALLOWED, Plugins()
    offsets = {"offset.storage.file.filename": str(tmp_path / "offsets")}
    validator = Validator(plugins, StandaloneConfig.parse(props | offsets, plugins.find_class))
    infos = _our_infos(validator, CASES["producer override"])
    errors = {name: one["value"]["errors"] for name, one in infos["configs"] if one["value"]["errors"]}
    assert sorted(errors) == sorted(POLICIES[policy])
    if not errors:
        return
    assert not list(_leaves("", java.infos("producer override", policy), infos))
    with pytest.raises(
        BadRequestError, match=f"The '{policy}' policy does not allow 'compression.type' to be overridd"
    ):
        validator.check(CASES["producer override"])

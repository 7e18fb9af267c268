"""Our configuration definitions beside those of Java Kafka Connect 4.3.1: same keys, types, defaults, groups, texts."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from connect_dagster.embedded.jars import resolve
from connect_dagster.embedded.java import find_java
from connect_dagster.plugin.config import ConfigDef
from connect_dagster.worker.config.connector import ConnectorConfig
from connect_dagster.worker.config.sink import SinkConnectorConfig, check_topics
from connect_dagster.worker.config.source import SourceConnectorConfig
from connect_dagster.worker.config.worker import StandaloneConfig
from tests.golden_answers import Golden, digest

# Prints the definitions as JSON, and the errors of wrong configurations, one JSON document for each.
PROGRAM = """
import com.fasterxml.jackson.databind.ObjectMapper;
import java.lang.reflect.*;
import java.nio.file.*;
import java.util.*;
import org.apache.kafka.common.config.*;
import org.apache.kafka.connect.runtime.*;

public class Definitions {
    static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] args) throws Exception {
        Field standalone =
            Class.forName("org.apache.kafka.connect.runtime.standalone.StandaloneConfig").getDeclaredField("CONFIG");
        standalone.setAccessible(true);
        Map<String, ConfigDef> all = Map.of(
            "worker", (ConfigDef) standalone.get(null),
            "connector", ConnectorConfig.configDef(),
            "sink", SinkConnectorConfig.configDef(),
            "source", SourceConnectorConfig.configDef());
        Map<String, Object> answer = new HashMap<>();
        for (Map.Entry<String, ConfigDef> definition : all.entrySet()) {
            List<Object> infos = new ArrayList<>();
            for (ConfigDef.ConfigKey key : definition.getValue().configKeys().values())
                infos.add(AbstractHerder.convertConfigKey(key));
            answer.put(definition.getKey(), infos);
        }
        List<Object> errors = new ArrayList<>();
        List<Map<String, Object>> cases = JSON.readValue(Paths.get(args[0]).toFile(), List.class);
        for (Map<String, Object> one : cases) {
            ConfigDef definition = all.get(one.get("definition"));
            Map<String, String> props = (Map<String, String>) one.get("props");
            Map<String, ConfigValue> values = definition.validateAll(props);
            if (one.get("definition").equals("sink"))
                SinkConnectorConfig.validate(props, values);
            Map<String, List<String>> found = new TreeMap<>();
            for (ConfigValue value : values.values())
                if (!value.errorMessages().isEmpty())
                    found.put(value.name(), value.errorMessages());
            errors.add(found);
        }
        answer.put("errors", errors);
        System.out.println("ANSWER" + JSON.writeValueAsString(answer));
    }
}
"""

OURS: dict[str, type[ConfigDef]] = {
    "worker": StandaloneConfig,
    "connector": ConnectorConfig,
    "sink": SinkConnectorConfig,
    "source": SourceConnectorConfig,
}
NAMED = {"name": "c", "connector.class": "x"}
WORKER = {
    "bootstrap.servers": "localhost:9092",
    "key.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "offset.storage.file.filename": "/tmp/x",
}
WRONG: list[tuple[str, dict[str, str]]] = [
    ("connector", {}),
    ("connector", {**NAMED, "name": ""}),
    ("connector", {**NAMED, "name": "a\tb\x7f\x9f"}),
    ("connector", {**NAMED, "tasks.max": "0"}),
    ("connector", {**NAMED, "tasks.max": "abc", "tasks.max.enforce": "yes", "errors.retry.timeout": "1.5"}),
    ("connector", {**NAMED, "tasks.max": " +2 ", "errors.log.enable": " TRUE "}),
    ("connector", {**NAMED, "tasks.max": "2147483648"}),
    ("connector", {**NAMED, "transforms": "a, a", "predicates": "b,,b"}),
    ("connector", {**NAMED, "errors.tolerance": "some", "config.action.reload": ""}),
    ("connector", {**NAMED, "key.converter": "no.Such"}),
    ("sink", NAMED),
    ("sink", {**NAMED, "topics": "a", "topics.regex": "b"}),
    ("sink", {**NAMED, "topics": "a, b ,,c"}),
    ("sink", {**NAMED, "topics": "a,a"}),
    ("sink", {**NAMED, "topics": "a, dlq", "errors.deadletterqueue.topic.name": " dlq "}),
    ("sink", {**NAMED, "topics.regex": "d.*", "errors.deadletterqueue.topic.name": "dlq"}),
    ("sink", {**NAMED, "topics": "a", "errors.deadletterqueue.topic.replication.factor": "40000"}),
    ("source", {**NAMED, "exactly.once.support": "never", "transaction.boundary": "often"}),
    ("source", {**NAMED, "transaction.boundary.interval.ms": "-1", "offsets.storage.topic": ""}),
    ("source", {**NAMED, "topic.creation.groups": "a,a", "exactly.once.support": "Required"}),
    ("worker", {}),
    ("worker", {**WORKER, "bootstrap.servers": "", "listeners": ""}),
    ("worker", {**WORKER, "bootstrap.servers": "a:1,a:1", "listeners": "http://:1,"}),
    ("worker", {**WORKER, "offset.flush.interval.ms": "10s", "topic.tracking.enable": "yes"}),
    ("worker", {**WORKER, "plugin.path": "/a,,/b", "rest.advertised.port": "http"}),
    ("worker", {**WORKER, "value.converter": "no.Such"}),
]


@pytest.fixture(scope="module")
def java(golden: Golden, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    asked = f"definitions, and errors of {digest(WRONG)}"
    answer: dict[str, Any] = golden.answer(asked, lambda: answer_of_java(tmp_path_factory.mktemp("definitions")))
    return answer


def answer_of_java(folder: Path) -> dict[str, Any]:
    (folder / "Definitions.java").write_text(PROGRAM)
    cases = [{"definition": definition, "props": props} for definition, props in WRONG]
    (folder / "cases.json").write_text(json.dumps(cases))
    jars = os.pathsep.join(map(str, resolve("java-connect")))
    command: list[str | Path] = [
        find_java(),
        "-XX:TieredStopAtLevel=1",
        "-cp",
        jars,
        folder / "Definitions.java",
        folder / "cases.json",
    ]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=180, check=False)
    assert ran.returncode == 0, f"a JDK is needed to launch a source file:\n{ran.stderr}"
    answer: dict[str, Any] = json.loads(ran.stdout.partition("ANSWER")[2])
    return {name: facts(infos) if name in OURS else infos for name, infos in answer.items()}


def facts(infos: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """All but the sentences, which are ours."""
    return [{name: value for name, value in info.items() if name != "documentation"} for info in infos]


@pytest.mark.parametrize("name", ["connector", "sink"])
def test_framework_keys_are_javas(java: dict[str, Any], name: str) -> None:
    assert facts(OURS[name].key_infos()) == facts(java[name])


def test_sources_keys_are_javas_and_those_of_a_dead_letter_queue(java: dict[str, Any]) -> None:
    """Kafka Connect has that queue for sinks alone; ours has it for sources, with the same keys."""
    queue = [info for info in facts(java["sink"]) if info["name"].startswith("errors.deadletterqueue.")]
    assert facts(OURS["source"].key_infos()) == facts(java["source"]) + queue


# Java's class loaders find classes by name, where an import of a module runs its code; Java's validation shows secrets.
WORKERS_OURS_ALONE = {"plugin.packages", "validate.show.resolved", "config.reload.interval.ms"}


def test_the_workers_keys_are_among_javas(java: dict[str, Any]) -> None:
    javas = {info["name"]: info for info in facts(java["worker"])}
    ours = [info for info in facts(OURS["worker"].key_infos()) if info["name"] not in WORKERS_OURS_ALONE]
    assert ours == [javas[info["name"]] for info in ours]
    assert {name for name, info in javas.items() if info["required"]} == {i["name"] for i in ours if i["required"]}


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_errors_are_javas(java: dict[str, Any], number: int) -> None:
    name, props = WRONG[number]
    values = OURS[name].validate_all(props, lambda known: None if known == "no.Such" else known)
    if name == "sink":
        check_topics(props, values)
    assert {value.name: value.errors for value in values if value.errors} == java["errors"][number]

"""Placeholders and config providers beside those of Java Kafka 4.3.1: what a configuration becomes, or its refusal."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from connect_dagster.embedded.jars import resolve
from connect_dagster.embedded.java import find_java
from connect_dagster.errors import ConfigError
from connect_dagster.isolation.config_transformer import ConfigTransformer
from connect_dagster.isolation.plugins import Plugins
from tests.golden_answers import Golden, digest

# Prints for each case the transformed configuration, or the text of the exception.
PROGRAM = """
import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.file.*;
import java.util.*;
import org.apache.kafka.common.config.*;
import org.apache.kafka.common.config.provider.ConfigProvider;

public class Transformed {
    public static void main(String[] args) throws Exception {
        ObjectMapper json = new ObjectMapper();
        List<Object> answers = new ArrayList<>();
        for (Object one : json.readValue(Paths.get(args[0]).toFile(), List.class)) {
            Map<String, Object> made = (Map<String, Object>) one;
            try {
                ConfigProvider provider = (ConfigProvider)
                    Class.forName("org.apache.kafka.common.config.provider." + made.get("class"))
                        .getDeclaredConstructor().newInstance();
                provider.configure((Map<String, String>) made.get("options"));
                Map<String, String> config = (Map<String, String>) made.get("config");
                answers.add(new ConfigTransformer(Map.of("p", provider)).transform(config).data());
            } catch (ConfigException e) {
                answers.add(e.getMessage());
            }
        }
        System.out.println("ANSWER" + json.writeValueAsString(answers));
    }
}
"""
VARIABLES = {"TOLD_USER": "from the environment", "HOME": "/home/of/nobody"}
FILE, FOLDER, ENVIRONMENT = "FileConfigProvider", "DirectoryConfigProvider", "EnvVarConfigProvider"
VALUES = [
    "${p:%s:password}",
    "${p:%s:password}${p:%s:user}-${p:%s:missing}",
    "${other:%s:password} ${p:%s:user}",
    "${p:%s:again}",
    "${p:%s:a:b}",
    "${p:%s:folded}",
    "${p:%s:empty}",
    "${p:%s:}",
    "${p:%s}",
    "${p::user}",
    "${p:user}",
    "${:user}",
    "${p:%s:user",
    "${${p:%s:user}}",
    "$${p:%s:user}}",
    "${x} ${p:%s:user}",
    "${\np:%s:user}",
    "${p:%s:name}",
    "${p:%s:back}",
    "",
]
PROPERTIES = r"""
# comment
password = s3cr3t
user:u
again=${p:user}
a\:b=colon
folded=one, \
       two
empty=
name=서울 \uc11c
back=\\1 $0 \\g<0>
"""


def cases(folder: Path) -> list[dict[str, Any]]:
    """Each a provider with its options, and a configuration for it."""
    file, mounted = folder / "secrets.properties", folder / "mounted"
    file.write_text(PROPERTIES, encoding="utf-8")
    (mounted / "below").mkdir(parents=True)
    (folder / "other").mkdir()
    for path, content in {"user": "u\n", "password": "s3cr3t", "below/user": "b", "name": "서울"}.items():
        (mounted / path).write_text(content, encoding="utf-8")
    (mounted / "again").symlink_to("password")
    (folder / "latin").write_bytes(b"user=\xff")

    def case(provider: str, path: Path | str, values: list[str], **options: str) -> dict[str, Any]:
        config = {f"k{number}": value.replace("%s", str(path)) for number, value in enumerate(values)}
        named = {name.replace("_", "."): value for name, value in options.items()}
        return {"class": provider, "options": named, "config": config}

    user = ["${p:%s:user}"]
    paths = [str(file), f"{folder}/other/../secrets.properties", f"//{file}", f"{mounted}/../secrets.properties"]
    allowed = ["", str(file), str(folder), f"{folder}/", f"{folder}/other", f"{folder}/other,{folder}", "/"]
    return [
        case(FILE, file, VALUES),
        case(FOLDER, mounted, VALUES),
        case(ENVIRONMENT, "", ["${p:TOLD_USER}", "${p:TOLD_NOT}", "${p::TOLD_USER}", "${p:HOME}"]),
        case(ENVIRONMENT, "", ["${p:TOLD_USER}", "${p:HOME}"], allowlist_pattern="TOLD_.*"),
        case(ENVIRONMENT, "", ["${p:TOLD_USER}"], allowlist_pattern="TOLD"),
        case(ENVIRONMENT, "/x", user),
        *(case(FILE, path, user, allowed_paths=one) for path in paths for one in allowed),
        *(case(FOLDER, mounted, user, allowed_paths=one) for one in allowed),
        case(FOLDER, mounted / "below", user, allowed_paths=str(mounted)),
        case(FOLDER, file, user),
        case(FOLDER, "/no/such", user),
        case(FILE, "relative.properties", user, allowed_paths=str(folder)),
        case(FILE, "/no/such.properties", user),
        case(FILE, folder, user),
        case(FILE, folder / "latin", user),
        case(FILE, f"{file}/../secrets.properties", user),
        case(FILE, file, user, allowed_paths="relative"),
        case(FILE, file, user, allowed_paths="/no/such"),
        *(case(FOLDER, mounted, [f"${{p:%s:{key}}}"]) for key in ("below", "below/user", "..", "../latin", ".")),
    ]


@pytest.fixture(scope="module")
def played(golden: Golden, tmp_path_factory: pytest.TempPathFactory) -> list[tuple[dict[str, Any], Any]]:
    """Each case with Java's answer."""
    folder = tmp_path_factory.mktemp("providers")
    made = cases(folder)
    asked = json.dumps(made).replace(str(folder), "{folder}")
    answers = golden.answer(f"{len(made)} cases {digest(asked)}", lambda: answers_of_java(folder, made))
    return list(zip(made, json.loads(json.dumps(answers).replace("{folder}", str(folder))), strict=True))


def answers_of_java(folder: Path, made: list[dict[str, Any]]) -> Any:
    """Have a JVM transform each case."""
    (folder / "Transformed.java").write_text(PROGRAM)
    (folder / "cases.json").write_text(json.dumps(made))
    jars = os.pathsep.join(map(str, resolve("java-connect")))
    program: list[str | Path] = [
        "-XX:TieredStopAtLevel=1",
        "-cp",
        jars,
        folder / "Transformed.java",
        folder / "cases.json",
    ]
    ran = subprocess.run(
        [find_java(), *program],
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
        env={**os.environ, **VARIABLES},
    )
    assert ran.returncode == 0, f"a JDK is needed to launch a source file:\n{ran.stderr}"
    return json.loads(ran.stdout.partition("ANSWER")[2].replace(str(folder), "{folder}"))


def test_configurations_become_what_java_makes_of_them(
    played: list[tuple[dict[str, Any], Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in VARIABLES.items():
        monkeypatch.setenv(name, value)
    answers = [(made, ours(made), java) for made, java in played]
    assert [one for one in answers if isinstance(one[2], dict) and one[1] != one[2]] == []
    assert sum(isinstance(java, dict) for _, _, java in answers) > 40


def test_refusals_hold_javas_sentence(played: list[tuple[dict[str, Any], Any]]) -> None:
    refused = [(java, ours(made)) for made, java in played if isinstance(java, str)]
    assert [(java, text) for java, text in refused if not isinstance(text, str) or java not in text] == []
    assert len(refused) == 7


def ours(made: dict[str, Any]) -> dict[str, str] | str:
    """Our transformed configuration, or the text of the error."""
    worker = {"config.providers": "p", "config.providers.p.class": made["class"]}
    worker |= {f"config.providers.p.param.{name}": value for name, value in made["options"].items()}
    config: dict[str, str] = made["config"]
    try:
        return ConfigTransformer.of(worker, Plugins()).transform(config).config
    except ConfigError as error:
        return str(error)

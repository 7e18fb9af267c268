"""Kafka's own integration tests of Connect, in a JVM with its broker, while the workers are processes of ours.

The suite starts every worker through the class `WorkerHandle`. Ours, compiled here and first on the class path,
spawns a command instead (see `upstream/`).
"""

import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from connect_dagster.embedded import child_process as leash
from connect_dagster.embedded.broker_config import FAST_START, jvm_options
from connect_dagster.embedded.jars import resolve
from connect_dagster.embedded.java import find_java

SOURCES = Path(__file__).with_name("upstream")
PLUGINS = SOURCES / "plugins"
SECONDS = 900
# The suite's own first: some jars of tests hold newer forms of what the others have as well.
JAR_SETS = ("connect-tests", "java-connect", "broker")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a test class.

    Attributes:
        failures: by the test's name, the first line of what it failed with.
        passed: the names of the tests that did not fail.
        report: the console's tree, and where the logs lie.
    """

    failures: Mapping[str, str]
    passed: frozenset[str]
    report: str


def run_class(
    name: str, worker_command: Sequence[str | Path], folder: Path, plugins: Path = PLUGINS, methods: Sequence[str] = ()
) -> Outcome:
    """Run a test class of the suite.

    Args:
        name: its full name.
        worker_command: starts a worker; gets its property file as the last argument.
        folder: for all files and logs of the run.
        plugins: the workers' plugin path.
        methods: the names of those that are run, all where there are none.

    Raises:
        subprocess.TimeoutExpired: the class took longer than `SECONDS`.
    """
    scratch = folder / "tmp"
    scratch.mkdir(parents=True)
    class_path = os.pathsep.join([str(_compiled(folder / "classes")), *_jars()])
    settings = {
        "connect.command": "\n".join(map(str, [sys.executable, "-I", "-S", leash.__file__, *worker_command])),
        "connect.folder": folder / "workers",
        "connect.plugins": plugins,
        "java.io.tmpdir": scratch,
        "org.slf4j.simpleLogger.logFile": folder / "suite.log",
    }
    options = [f"-D{key}={value}" for key, value in settings.items()]
    selected = [f"--select-method={name}#{method}" for method in methods] or [f"--select-class={name}"]
    console = ["execute", "--disable-banner", "--disable-ansi-colors", "--details=tree", *selected]
    files = [f"--reports-dir={folder}", f"--redirect-stdout={folder / 'suite.out'}"]
    launcher = ["-cp", class_path, "org.junit.platform.console.ConsoleLauncher", *console, *files]
    tree = folder / "tree.txt"
    with tree.open("wb") as log:
        process = leash.start_leashed([find_java(), *jvm_options("1g", FAST_START), *options, *launcher], log=log)
    try:
        process.wait(SECONDS)
    finally:
        process.kill()
        process.wait()
    return _outcome(folder / "TEST-junit-jupiter.xml", f"{tree.read_text()}\nLogs: {folder}")


def _compiled(classes: Path) -> Path:
    sources = [str(path) for path in SOURCES.rglob("*.java")]
    compiler = [str(find_java()), "-m", "jdk.compiler/com.sun.tools.javac.Main", "-Xlint:all", "-Werror"]
    subprocess.run([*compiler, "-d", str(classes), *sources], check=True, timeout=120)
    return classes


def _jars() -> list[str]:
    return list(dict.fromkeys(str(jar) for jar_set in JAR_SETS for jar in resolve(jar_set)))


def _outcome(results: Path, report: str) -> Outcome:
    cases = ElementTree.parse(results).getroot().findall("testcase")
    failures = {
        case.attrib["name"]: problem.attrib.get("message", problem.text or "").partition("\n")[0]
        for case in cases
        for problem in (*case.findall("failure"), *case.findall("error"))
    }
    return Outcome(failures, frozenset(case.attrib["name"] for case in cases) - failures.keys(), report)

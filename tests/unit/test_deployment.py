"""The files of `examples/deployment`, by the linters of their kinds, and by what they name of the project."""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from connect_dagster.embedded.jar_lock import JAR_SETS
from connect_dagster.herder.distributed.config import DistributedConfig
from connect_dagster.isolation.config_transformer import ConfigTransformer
from connect_dagster.isolation.plugins import Plugins
from connect_dagster.java.properties import parse_properties

ROOT = Path(__file__).parents[2]
FILES = ROOT / "examples" / "deployment"
CONTAINERFILE, SERVICE = FILES / "Containerfile", FILES / "connect-distributed.service"
OBJECTS: list[dict[str, Any]] = list(yaml.safe_load_all((FILES / "kubernetes.yaml").read_text()))
PLACE_OF_SERVICE = "/opt/connect/bin/"


def linted(*command: str | Path) -> str:
    """What a linter says; nothing when it finds nothing."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr + ("" if done.returncode == 0 else f"exit code {done.returncode}")


def of_kind(kind: str) -> dict[str, Any]:
    (found,) = (one for one in OBJECTS if one["kind"] == kind)
    return found


def test_hadolint_finds_nothing_in_the_containerfile() -> None:
    hadolint = Path(sys.executable).with_name("hadolint")
    program = hadolint if hadolint.exists() else shutil.which("hadolint")
    assert program is not None
    assert linted(program, "--no-color", CONTAINERFILE) == ""


def test_the_containerfile_names_what_the_project_has() -> None:
    text = CONTAINERFILE.read_text()
    copied = [words[1:-1] for line in text.splitlines() if (words := line.split())[:1] == ["COPY"]]
    assert all((ROOT / name).exists() for names in copied for name in names if not name.startswith(("--", "/")))
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert set(re.findall(r'ENTRYPOINT \["(.+)"\]', text)) <= set(scripts)
    (sets,) = re.findall(r"for name in \((.+?)\)", text)
    assert set(re.findall(r"'(.+?)'", sets)) <= set(JAR_SETS)


def test_each_locked_version_is_a_constraint_of_the_image() -> None:
    (program,) = re.findall(r"sed --quiet '(.+)' requirements\.lock", CONTAINERFILE.read_text())
    command = ["sed", "--quiet", program, ROOT / "requirements.lock"]
    constraints = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    locked = re.findall(r"^[a-z0-9].*==.*", (ROOT / "requirements.lock").read_text(), re.MULTILINE)
    assert constraints == [line.removesuffix(" \\") for line in locked]
    assert not any("--hash" in line for line in constraints)


@pytest.mark.nightly
def test_systemd_takes_the_service(tmp_path: Path) -> None:
    text = SERVICE.read_text()
    assert PLACE_OF_SERVICE in text
    unit = tmp_path / SERVICE.name
    unit.write_text(text.replace(PLACE_OF_SERVICE, f"{Path(sys.executable).parent}/"))
    assert linted("systemd-analyze", "verify", unit) == ""


@pytest.mark.parametrize("given", OBJECTS, ids=lambda given: given["kind"])
def test_kubernetes_takes_each_object(given: dict[str, Any]) -> None:
    kubernetes_validate.validate(given, kubernetes_validate.latest_version(), strict=True)


def test_the_workers_of_the_config_map_start_with_its_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POD_IP", "10.1.2.3")
    props = parse_properties(of_kind("ConfigMap")["data"]["worker.properties"], "worker.properties")
    plugins = Plugins.of(props)
    config = DistributedConfig.parse(ConfigTransformer.of(props, plugins).transform(props).config, plugins.find_class)
    assert config.rest_advertised_host_name == "10.1.2.3"
    deployment = of_kind("Deployment")["spec"]
    (container,) = deployment["template"]["spec"]["containers"]
    (port,) = container["ports"]
    assert config.originals["listeners"].endswith(f":{port['containerPort']}")
    stops_within = deployment["template"]["spec"]["terminationGracePeriodSeconds"]
    assert config.task_shutdown_graceful_timeout_ms / 1000 < stops_within


def test_the_objects_of_kubernetes_belong_together() -> None:
    deployment = of_kind("Deployment")["spec"]
    labels = deployment["template"]["metadata"]["labels"]
    assert of_kind("Service")["spec"]["selector"] == labels
    assert of_kind("PodDisruptionBudget")["spec"]["selector"]["matchLabels"] == labels
    pod = deployment["template"]["spec"]
    assert pod["volumes"][0]["configMap"]["name"] == of_kind("ConfigMap")["metadata"]["name"]
    assert f"USER {pod['securityContext']['runAsUser']}\n" in CONTAINERFILE.read_text()

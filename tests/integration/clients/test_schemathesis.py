"""Schemathesis, unmodified, plays what it makes of `/openapi.json` to a worker and holds the answers to it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.worker_process import WorkerProcess

pytestmark = pytest.mark.nightly

COMMAND = Path(sys.executable).with_name("schemathesis")
SEED = "20261121"
CHECKS = "not_a_server_error,response_schema_conformance,status_code_conformance,content_type_conformance"
# Error 500 for what cannot be read, and no other break of the description; Java's worker breaks its own as well.
JAVAS_SERVER_ERRORS = 6
SERVER_ERROR = "ST101"
FEWEST_CASES = 143


def test_answers_are_as_described(worker: WorkerProcess, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    words = [f"{worker.rest_url}/openapi.json", "--seed", SEED, "--generation-database", "none", "--mode", "positive"]
    words += ["--max-examples", "5", "--checks", CHECKS, "--no-color", "--report-json-path", str(report)]
    done = subprocess.run([str(COMMAND), "run", *words], capture_output=True, text=True, timeout=240, cwd=tmp_path)
    told = json.loads(report.read_text())
    failures = {failure["code"]: failure["count"] for failure in told["failures"]}
    assert failures.pop(SERVER_ERROR, 0) <= JAVAS_SERVER_ERRORS, done.stdout
    assert failures == {}, done.stdout
    assert told["complete"], done.stdout
    assert told["test_cases"]["generated"] >= FEWEST_CASES, done.stdout
    assert worker.call("GET", "/health").status == 200

import subprocess
from dataclasses import replace

import pytest

from connect_dagster.orchestration.workers.run_process import RunProcess


@pytest.fixture
def here() -> RunProcess:
    process = RunProcess.current()
    assert process is not None
    return process


def test_a_process_is_told_by_text_and_back(here: RunProcess) -> None:
    assert RunProcess.read(here.text()) == here
    assert not here.is_gone()


@pytest.mark.parametrize("text", [None, "", "1234", '{"host": "h"}'])
def test_other_texts_are_no_process(text: str | None) -> None:
    assert RunProcess.read(text) is None


def test_an_ended_process_is_gone() -> None:
    with subprocess.Popen(["sleep", "60"]) as child:
        process = RunProcess.of(child.pid)
        assert process is not None
        assert not process.is_gone()
        child.kill()
    assert process.is_gone()


def test_a_process_that_nobody_has_reaped_is_gone() -> None:
    with subprocess.Popen(["true"], stdout=subprocess.PIPE) as child:
        process = RunProcess.of(child.pid)
        assert child.stdout is not None
        child.stdout.read()
        while RunProcess.of(child.pid) is not None:
            pass
        assert process is None or process.is_gone()


def test_another_process_with_its_pid_is_not_the_same(here: RunProcess) -> None:
    assert replace(here, start=here.start - 1).is_gone()


def test_a_boot_ends_all_processes(here: RunProcess) -> None:
    assert replace(here, boot="an earlier one").is_gone()


def test_nothing_is_known_of_other_machines_and_containers(here: RunProcess) -> None:
    assert not replace(here, host="elsewhere", boot="another").is_gone()
    assert not replace(here, namespace="pid:[1]", start=0).is_gone()

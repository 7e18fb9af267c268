"""The class archive is an optimisation: without it an installation is complete all the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from connect_dagster.errors import ConnectError
from connect_dagster.worker.spark import class_archive


class SlowSession:
    """A session whose JVM is killed while it writes the archive."""

    def __init__(self, settings: dict[str, str], jvm: list[str]) -> None:
        self._fresh = Path(jvm[0].removeprefix("-XX:ArchiveClassesAtExit="))
        self.spark = None

    def warm_up(self) -> None:
        self._fresh.write_text("a part of it")

    def stop(self, seconds: float) -> bool:
        return False


class AbsentSession(SlowSession):
    """A session whose JVM does not start."""

    def __init__(self, settings: dict[str, str], jvm: list[str]) -> None:
        raise ConnectError("The JVM for Spark was not up within 60 s")


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The path of the archive, which does not exist yet; no JVM is started."""
    path = tmp_path / "cache" / "classes.jsa"

    def options(settings: dict[str, str], given: list[str]) -> list[str]:
        return given

    def touch(spark: Any) -> None:
        """Touch nothing."""

    monkeypatch.setattr(class_archive, "class_archive", lambda: path)
    monkeypatch.setattr(class_archive, "SparkJvm", options)
    monkeypatch.setattr(class_archive, "_touch", touch)
    return path


@pytest.mark.parametrize(
    ("session", "reason"),
    [(SlowSession, "did not write it within 120 s"), (AbsentSession, "was not up within 60 s")],
)
def test_an_archive_that_is_not_made_is_a_warning(
    archive: Path,
    session: type[SlowSession],
    reason: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """At 1f0d1e0 `make install` ended with a traceback, or kept what a killed JVM had written."""
    monkeypatch.setattr(class_archive, "Session", session)
    class_archive.main()
    out, err = capsys.readouterr()
    assert out == "", "make install takes it for made otherwise"
    assert err.startswith("WARNING: the archive of the JVM's classes was not made")
    assert reason in err
    assert err.count("\n") == 1
    assert list(archive.parent.iterdir()) == []


def test_an_archive_that_exists_is_printed(archive: Path, capsys: pytest.CaptureFixture[str]) -> None:
    archive.parent.mkdir()
    archive.touch()
    class_archive.main()
    assert capsys.readouterr().out == f"{archive}\n"

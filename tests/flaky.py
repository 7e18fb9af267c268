"""The marker `flaky`: a test known to fail now and then runs a second time, and the summary shows that it had to.

    @pytest.mark.flaky(reason="Java lists offsets before it has read them", issue="KAFKA-12345")

No other test runs twice. At most `MOST` test functions carry the marker, so a flaky test is mended before the next one
is marked.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

MOST = 3
PROPERTY = "needed a second run"

_TOO_MANY = pytest.StashKey[str]()


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "flaky(reason, issue): fails now and then; runs a second time when it does")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    marked = sorted({item.nodeid.partition("[")[0] for item in items if item.get_closest_marker("flaky")})
    if len(marked) > MOST:
        config.stash[_TOO_MANY] = f"At most {MOST} tests may be marked flaky: {', '.join(marked)}"


def pytest_runtest_setup(item: pytest.Item) -> None:
    marker = item.get_closest_marker("flaky")
    if marker and (marker.args or marker.kwargs.keys() != {"reason", "issue"}):
        pytest.fail("write @pytest.mark.flaky(reason=..., issue=...)", pytrace=False)
    if marker and _TOO_MANY in item.config.stash:
        pytest.fail(item.config.stash[_TOO_MANY], pytrace=False)


def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    marker = item.get_closest_marker("flaky")
    if marker is None:
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    reports = runtestprotocol(item, log=False, nextitem=nextitem)
    if failed := [report for report in reports if report.failed]:
        # The second run gets new fixtures of every scope, as one of these may be what failed.
        item.session._setupstate.teardown_exact(None)
        reports = runtestprotocol(item, log=False, nextitem=nextitem)
        for report in reports:
            report.user_properties.append((PROPERTY, marker.kwargs))
            report.sections += [(f"first run, {first.when}", first.longreprtext) for first in failed]
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    again = {report.nodeid: (about, report) for report, about in _second_runs(terminalreporter)}
    if again:
        terminalreporter.section("flaky tests that ran a second time", red=True, bold=True)
    for nodeid, (about, report) in again.items():
        terminalreporter.write_line(f"{nodeid}: {about['reason']} ({about['issue']})", red=True)
        for title, text in report.sections:
            if title.startswith("first run"):
                terminalreporter.write_line(f"{title}:\n{text}")


def _second_runs(terminalreporter: pytest.TerminalReporter) -> Iterator[tuple[pytest.TestReport, dict[str, Any]]]:
    for reports in terminalreporter.stats.values():
        for report in reports:
            for name, about in getattr(report, "user_properties", ()):
                if name == PROPERTY:
                    yield report, about

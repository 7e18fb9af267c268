import pytest

from connect_dagster.worker.config.connector import ConnectorConfig, TooManyTasksError, check_tasks_max

NAMED = {"name": "c", "connector.class": "C"}


@pytest.mark.parametrize(("tasks", "config"), [(1, {}), (0, {}), (3, {"tasks.max": " 3 "})])
def test_as_many_as_allowed(tasks: int, config: dict[str, str]) -> None:
    check_tasks_max("c", tasks, ConnectorConfig.parse(NAMED | config))


@pytest.mark.parametrize("config", [{}, {"tasks.max": "1", "tasks.max.enforce": "TRUE"}])
def test_one_too_many_is_refused(config: dict[str, str]) -> None:
    with pytest.raises(TooManyTasksError, match="The connector c has generated 2 tasks, which is greater than 1, the"):
        check_tasks_max("c", 2, ConnectorConfig.parse(NAMED | config))


def test_too_many_are_let_through_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    check_tasks_max("c", 2, ConnectorConfig.parse(NAMED | {"tasks.max.enforce": "false"}))
    assert "This behavior should be considered a bug and will be disallowed in future releases" in caplog.text

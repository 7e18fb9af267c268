import threading

import pytest

from connect_dagster.errors import NotFoundError
from connect_dagster.herder.interface import ConnectorType
from connect_dagster.herder.standalone.registry import ConnectorEntry, Registry
from connect_dagster.protocol.states import TargetState, TaskId

SECONDS = 10.0


def entry() -> ConnectorEntry:
    return ConnectorEntry({"k": "v"}, 1, ConnectorType.SOURCE, "1", TargetState.STARTED, [{}, {}])


def test_a_renewed_connector_is_another_one_with_the_same_content() -> None:
    registry, old = Registry(), entry()
    registry.put("c", old)
    new = registry.renew("c")
    assert registry.holds("c", new)
    assert not registry.holds("c", old)
    assert (new.config, new.task_configs) == (old.config, old.task_configs)
    assert registry.tasks("c") == [TaskId("c", 0), TaskId("c", 1)]


def test_a_removed_connector_is_not_found() -> None:
    registry = Registry()
    registry.put("b", entry())
    registry.put("a", entry())
    assert registry.names() == ["a", "b"]
    registry.remove("a")
    assert registry.find("a") is None
    assert registry.tasks("a") == []
    with pytest.raises(NotFoundError, match="Connector a not found"):
        registry.get("a", "Connector a not found")


def test_operations_on_one_connector_follow_each_other_those_on_others_do_not() -> None:
    registry, entered, other = Registry(), threading.Event(), threading.Event()

    def operate(name: str, done: threading.Event) -> None:
        with registry.operation(name):
            done.set()

    with registry.operation("c"), registry.operation("c"):
        same = threading.Thread(target=operate, args=("c", entered))
        same.start()
        threading.Thread(target=operate, args=("d", other)).start()
        assert other.wait(SECONDS)
        assert not entered.is_set()
    assert entered.wait(SECONDS)
    same.join(SECONDS)

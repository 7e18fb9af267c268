from connect_dagster.herder.standalone.registry import StatusStore
from connect_dagster.protocol.states import State, Status, TaskId


def test_statuses_carry_the_worker_and_tasks_are_sorted() -> None:
    store = StatusStore("w:1")
    store.connector_changed("c", State.FAILED, "trace", "1")
    for number in (10, 2):
        store.task_changed(TaskId("c", number), State.RUNNING, None, "1")
    store.task_changed(TaskId("c2", 0), State.RUNNING, None)
    assert store.connector("c") == Status(State.FAILED, "w:1", "trace", "1")
    assert [number for number, _ in store.tasks("c")] == [2, 10]
    assert store.task(TaskId("c", 3)) is None


def test_tasks_are_forgotten_of_one_connector() -> None:
    store = StatusStore("w:1")
    for name in ("c", "c-0"):
        store.connector_changed(name, State.RUNNING, None)
        store.task_changed(TaskId(name, 0), State.RUNNING, None)
        store.topics_seen(name, {"b", "a"})
    store.forget_tasks("c")
    assert store.tasks("c") == ()
    assert store.connector("c") is not None
    store.forget("c")
    assert (store.connector("c"), store.topics("c")) == (None, [])
    assert [number for number, _ in store.tasks("c-0")] == [0]
    assert store.topics("c-0") == ["a", "b"]
    store.reset_topics("c-0")
    assert store.topics("c-0") == []

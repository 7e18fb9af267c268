"""What tasks, starts and rebalances measure, with a clock in hand."""

import math
from collections.abc import Callable

import pytest

from connect_dagster.connectors.file.sink import FileStreamSinkConnector
from connect_dagster.isolation.plugins import Kind, PluginDescription
from connect_dagster.plugin.metrics import MetricGroup, MetricReading
from connect_dagster.plugin.records import TopicPartition
from connect_dagster.plugin.samples import Windows
from connect_dagster.protocol.states import State, TaskId
from connect_dagster.worker.metrics.families import Family
from connect_dagster.worker.metrics.groups import GROUPS
from connect_dagster.worker.metrics.tasks import AliasedPlugin, SinkTaskMetrics, SourceTaskMetrics, TaskPlugins
from connect_dagster.worker.metrics.worker_metrics import WorkerMetrics

TASK = TaskId("c", 0)
FIRST, SECOND = TopicPartition("t", 0), TopicPartition("t", 1)
NO_PLUGINS = TaskPlugins({})


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def worker(clock: Clock) -> WorkerMetrics:
    return WorkerMetrics("here:8083", Windows(), clock, today=lambda: 1_800_000_000.5)


@pytest.fixture
def read(worker: WorkerMetrics) -> Callable[..., float]:
    """The value of a name and labels, as Prometheus would see it."""

    def value(name: str, **labels: str) -> float:
        samples = {
            tuple(sorted(sample.labels.items())): sample.value
            for family in worker.families("4.3.1", "26b2")
            if family.name == f"kafka_connect_{name}"
            for sample in family.samples
        }
        return samples[tuple(sorted(labels.items()))]

    return value


@pytest.fixture
def sink(worker: WorkerMetrics) -> SinkTaskMetrics:
    return worker.sink_task(TASK, NO_PLUGINS)


@pytest.fixture
def source(worker: WorkerMetrics) -> SourceTaskMetrics:
    return worker.source_task(TASK, NO_PLUGINS)


def _names(families: tuple[Family, ...]) -> set[str]:
    return {family.name.removeprefix("kafka_connect_") for family in families}


def test_no_name_stands_for_two_things() -> None:
    names = [f"{group.prefix}_{name}" for group in GROUPS for name in (*group.numbers, *group.texts)]
    assert len(names) == len(set(names))


def test_the_worker_itself(read: Callable[..., float]) -> None:
    assert read("version_info", clientid="here:8083", version="4.3.1") == 1
    assert read("commit_id_info", clientid="here:8083", commit_id="26b2") == 1
    assert read("start_time_seconds", clientid="here:8083") == 1_800_000_000.5
    assert read("worker_connector_count") == read("worker_task_count") == 0


def test_a_sink_task_counts_puts(sink: SinkTaskMetrics, clock: Clock, read: Callable[..., float]) -> None:
    sink.put_ended(milliseconds=20, offsets=60, read=60, arrived=None)
    sink.put_ended(milliseconds=40, offsets=40, read=40, arrived=None)
    clock.now += 10
    one = {"connector": "c", "task": "0"}
    assert read("sink_task_sink_record_read_total", **one) == read("sink_task_sink_record_send_total", **one) == 100
    assert read("sink_task_sink_record_read_rate", **one) == 100 / 40
    assert read("sink_task_put_batch_avg_time_ms", **one) == 30
    assert read("sink_task_put_batch_max_time_ms", **one) == 40
    assert read("connector_task_batch_size_max", **one) == 60
    assert read("connector_task_last_record_seconds_ago", **one) == 10


@pytest.mark.parametrize(
    ("offsets", "rows", "read_total"),
    [
        (100, 100, 100),
        pytest.param(100, 60, 60, id="offsets without records"),
        pytest.param(100, 200, 100, id="a task that read twice"),
        pytest.param(100, 0, 100, id="a task that read nothing"),
    ],
)
def test_offsets_without_records_are_not_counted(
    sink: SinkTaskMetrics, read: Callable[..., float], offsets: int, rows: int, read_total: int
) -> None:
    sink.put_ended(1, offsets, rows, None)
    assert read("sink_task_sink_record_read_total", connector="c", task="0") == read_total


def test_records_left_out_are_not_sent(sink: SinkTaskMetrics, read: Callable[..., float]) -> None:
    sink.errors.skipped(5)
    sink.put_ended(1, offsets=100, read=90, arrived=85)  # ten offsets have no record, five records cannot be read
    one = {"connector": "c", "task": "0"}
    assert read("sink_task_sink_record_read_total", **one) == 90
    assert read("sink_task_sink_record_send_total", **one) == 85
    assert read("task_error_total_records_skipped", **one) == 5
    assert read("task_error_total_record_failures", **one) == 5
    assert read("task_error_last_error_timestamp", **one) > 1_700_000_000_000
    assert read("task_error_deadletterqueue_produce_requests", **one) == 0


def test_records_that_a_transform_leaves_out_are_no_errors(worker: WorkerMetrics, read: Callable[..., float]) -> None:
    plugins = TaskPlugins(
        {"key-converter-class": "x.Json"}, (AliasedPlugin("odd", "x.Odd", "1.0"),), (AliasedPlugin("is", "x.Is", "2"),)
    )
    sink = worker.sink_task(TASK, plugins)
    sink.put_ended(1, offsets=10, read=10, arrived=5)
    one = {"connector": "c", "task": "0"}
    assert read("sink_task_sink_record_send_total", **one) == 5
    assert read("task_error_total_records_skipped", **one) == 0
    assert read("connector_transform_transform_class", **one, transform="odd", transform_class="x.Odd") == 1
    assert read("connector_predicate_predicate_class", **one, predicate="is", predicate_class="x.Is") == 1
    assert read("connector_predicate_predicate_version", **one, predicate="is", predicate_version="2") == 1
    assert read("connector_task_key_converter_class", **one, key_converter_class="x.Json") == 1


def test_metrics_of_a_plugin_have_the_tags_of_the_worker_first(
    worker: WorkerMetrics, read: Callable[..., float], caplog: pytest.LogCaptureFixture
) -> None:
    """Java: ``ConnectMetrics.wrap``, and the refusal of ``PluginMetricsImpl.metricName``."""
    task = worker.source_task(TASK, NO_PLUGINS)

    def add(tag: str, value: str, *own: str) -> None:
        group = MetricGroup("plugins", "kafka_connect_x", own, {"row-total": "Rows."})
        task.of_plugin(tag, value).add(lambda now: [MetricReading(group, own, {"row-total": 3})])

    for tag, value in (("transformation", "a"), ("predicate", "b"), ("converter", "header")):
        add(tag, value)
        add(tag, value, "table")
    place = {"connector": "c", "task": "0"}
    assert read("x_row_total", **place, transformation="a") == 3
    assert read("x_row_total", **place, transformation="a", table="table") == 3
    assert read("x_row_total", **place, predicate="b") == 3
    assert read("x_row_total", **place, converter="header") == 3
    add("converter", "key", "task")
    assert read("x_row_total", **place, predicate="b") == 3
    assert "plugin of task c-0, converter key, has added cannot be read" in caplog.text
    assert "Cannot use task as a tag name of plugins: the worker sets it" in caplog.text


def test_what_plugins_add_is_shown_while_they_are(worker: WorkerMetrics, read: Callable[..., float]) -> None:
    group = MetricGroup("x", "kafka_connect_x", ("of",), {"row-total": "Rows."})

    def broken(now: float) -> list[MetricReading]:
        raise ValueError("closed")

    def number(value: int) -> Callable[[float], list[MetricReading]]:
        return lambda now: [MetricReading(group, (str(value),), {"row-total": value})]

    plugin = PluginDescription(FileStreamSinkConnector, Kind.SINK, "x.Sink", "1.0", "here")
    worker.connector("c", plugin, lambda *_: None)
    added = (worker.of_connector("c"), worker.sink_task(TASK, NO_PLUGINS))
    places: tuple[dict[str, str], ...] = ({"connector": "c"}, {"connector": "c", "task": "0"})
    for value, one in enumerate(added):
        one.add(broken)
        one.add(number(value))
        assert one.windows == Windows()
    assert [read("x_row_total", **place, of=str(value)) for value, place in enumerate(places)] == [0, 1]
    worker.remove_connectors(["c"])
    assert read("x_row_total", **places[1], of="1") == 1
    with pytest.raises(KeyError):
        read("x_row_total", **places[0], of="0")


def test_a_group_that_names_its_own_beans_has_no_tags_of_the_worker(
    worker: WorkerMetrics, read: Callable[..., float]
) -> None:
    group = MetricGroup("x", "kafka_connect_x", ("of",), {"row-total": "Rows."}, has_worker_tags=False)
    worker.sink_task(TASK, NO_PLUGINS).add(lambda now: [MetricReading(group, ("shop",), {"row-total": 2})])
    assert read("x_row_total", of="shop") == 2


def test_lag_and_active_records(sink: SinkTaskMetrics, read: Callable[..., float]) -> None:
    one = {"connector": "c", "task": "0"}
    assert math.isnan(read("sink_task_sink_record_lag_max", **one))
    sink.moved_to({FIRST: 10, SECOND: 20}, {FIRST: 5, SECOND: 20})
    sink.ends_seen({FIRST: 13, SECOND: 15})
    assert read("sink_task_sink_record_lag_max", **one) == 3
    assert read("sink_task_sink_record_active_count", **one) == 5
    assert read("sink_task_partition_count", **one) == 2
    assert sink.stale_ends([FIRST, SECOND]) == []
    assert sink.stale_ends([FIRST, SECOND]) == [FIRST, SECOND]
    sink.moved_to({SECOND: 20}, {SECOND: 20})
    assert read("sink_task_sink_record_lag_max", **one) == 0
    assert read("sink_task_sink_record_active_count_max", **one) == 5
    assert read("sink_task_sink_record_active_count", **one) == 0


def test_commits_of_a_sink(sink: SinkTaskMetrics, read: Callable[..., float]) -> None:
    sink.commit_began(7)
    for milliseconds, succeeded in ((10, True), (30, True), (50, False), (20, True)):
        sink.commit_ended(milliseconds, succeeded=succeeded)
    sink.commit_skipped()
    one = {"connector": "c", "task": "0"}
    assert read("sink_task_offset_commit_seq_no", **one) == 7
    assert read("sink_task_offset_commit_completion_total", **one) == 3
    assert read("sink_task_offset_commit_skip_total", **one) == 1
    assert read("connector_task_offset_commit_failure_percentage", **one) == 0.25
    assert read("connector_task_offset_commit_success_percentage", **one) == 0.75
    assert read("connector_task_offset_commit_max_time_ms", **one) == 30  # those that failed have no time
    assert read("connector_task_offset_commit_avg_time_ms", **one) == 20


def test_a_source_task_counts_what_is_on_its_way(source: SourceTaskMetrics, read: Callable[..., float]) -> None:
    one = {"connector": "c", "task": "0"}
    source.poll_ended(4)
    source.batch_polled(10)
    source.batch_polled(20)
    assert read("source_task_source_record_active_count", **one) == 30
    source.record_refused()
    source.batch_written(polled=10, sent=8)
    assert read("source_task_source_record_active_count", **one) == 20
    assert read("source_task_source_record_active_count_max", **one) == 30
    assert read("source_task_source_record_poll_total", **one) == 30
    assert read("source_task_source_record_write_total", **one) == 7
    source.batch_written(polled=20, sent=20)
    assert read("source_task_source_record_write_total", **one) == 27
    assert read("source_task_poll_batch_avg_time_ms", **one) == 4
    assert read("connector_task_batch_size_avg", **one) == 15


def test_a_source_task_counts_its_waits_for_turns(
    source: SourceTaskMetrics, clock: Clock, read: Callable[..., float]
) -> None:
    one = {"connector": "c", "task": "0"}
    assert read("source_task_turn_wait_time_ms_total", **one) == 0
    for milliseconds in (0.0, 1500.0, 250.0):
        source.turn_waited(milliseconds)
    assert read("source_task_turn_wait_max_time_ms", **one) == 1500
    clock.now += 100
    source.turn_waited(0)
    assert read("source_task_turn_wait_max_time_ms", **one) == 0
    assert read("source_task_turn_wait_time_ms_total", **one) == 1750


def test_states_and_starts_of_tasks(worker: WorkerMetrics, clock: Clock, read: Callable[..., float]) -> None:
    heard: list[State] = []
    good, bad = worker.sink_task(TASK, NO_PLUGINS), worker.sink_task(TaskId("c", 1), NO_PLUGINS)
    tell_good = worker.listening(good, lambda _, state, __: heard.append(state))
    tell_bad = worker.listening(bad, lambda _, state, __: heard.append(state))
    tell_good(TASK, State.RUNNING, None)
    tell_bad(bad.id, State.FAILED, "trace")
    worker.task_start_failed(TaskId("d", 0))
    clock.now += 30
    tell_good(TASK, State.PAUSED, None)
    clock.now += 10
    assert heard == [State.RUNNING, State.FAILED, State.PAUSED]
    one = {"connector": "c", "task": "0"}
    assert read("connector_task_status", **one, status="paused") == 1
    assert (read("connector_task_running_ratio", **one), read("connector_task_pause_ratio", **one)) == (0.75, 0.25)
    assert read("connector_task_status", connector="d", task="0", status="failed") == 1
    assert read("worker_connector_total_task_count", connector="c") == 2
    assert read("worker_connector_failed_task_count", connector="c") == 1
    assert read("worker_connector_paused_task_count", connector="c") == 1
    assert read("worker_connector_running_task_count", connector="c") == 0
    assert read("worker_task_startup_attempts_total") == 3
    assert read("worker_task_startup_success_total") == 1
    assert read("worker_task_startup_failure_percentage") == pytest.approx(2 / 3)


def test_a_task_that_fails_later_did_start(worker: WorkerMetrics, read: Callable[..., float]) -> None:
    tell = worker.listening(worker.sink_task(TASK, NO_PLUGINS), lambda *_: None)
    tell(TASK, State.RUNNING, None)
    tell(TASK, State.FAILED, "trace")
    assert (read("worker_task_startup_success_total"), read("worker_task_startup_failure_total")) == (1, 0)
    assert read("worker_task_count") == 1


def test_a_task_started_again_begins_at_nothing(worker: WorkerMetrics, read: Callable[..., float]) -> None:
    before = worker.sink_task(TASK, NO_PLUGINS)
    before.put_ended(1, 10, 10, None)
    worker.remove_tasks([TASK])
    assert "sink_task_sink_record_read_total" not in _names(worker.families("", ""))
    worker.sink_task(TASK, NO_PLUGINS)
    assert read("sink_task_sink_record_read_total", connector="c", task="0") == 0


def test_connectors(worker: WorkerMetrics, read: Callable[..., float]) -> None:
    plugin = PluginDescription(FileStreamSinkConnector, Kind.SINK, "x.Sink", "2.0", "classpath")
    heard: list[State] = []
    tell = worker.connector("c", plugin, lambda _, state, __: heard.append(state))
    assert read("connector_status", connector="c", status="unassigned") == 1
    tell("c", State.RUNNING, None)
    assert heard == [State.RUNNING]
    assert read("connector_status", connector="c", status="running") == 1
    assert read("connector_connector_class", connector="c", connector_class="x.Sink") == 1
    assert read("worker_connector_startup_success_percentage") == 1
    worker.connector_start_failed()
    assert read("worker_connector_startup_failure_total") == 1
    assert read("worker_connector_count") == 1
    worker.remove_connectors(["c"])
    assert read("worker_connector_count") == 0


def test_rebalances(worker: WorkerMetrics, clock: Clock, read: Callable[..., float]) -> None:
    assert not any("rebalance" in name for name in _names(worker.families("", "")))
    measured = {"assigned-tasks": 3, "join-time-max": 12.5, "join-total": 4, "request-rate": 0.5, "other": 1}
    group = worker.join_group("connect-here:8083", lambda: measured)
    one = {"clientid": "connect-here:8083"}
    assert read("coordinator_last_rebalance_seconds_ago", **one) == -1
    assert read("coordinator_join_total", **one) == 4
    assert read("request_rate", **one) == 0.5
    assert read("worker_rebalance_time_since_last_rebalance_ms") == math.inf
    assert read("coordinator_assigned_tasks", clientid="connect-here:8083") == 3
    assert "coordinator_other" not in _names(worker.families("", ""))
    group.protocol = "SESSIONED"
    group.rebalance_started(clock.now)
    assert read("worker_rebalance_rebalancing") == 1
    clock.now += 2
    group.rebalance_succeeded(clock.now, 7, "http://here:8083/")
    clock.now += 5
    assert read("worker_rebalance_rebalancing") == 0
    assert read("worker_rebalance_epoch") == 7
    assert read("worker_rebalance_completed_rebalances_total") == 1
    assert read("worker_rebalance_rebalance_avg_time_ms") == 2000
    assert read("coordinator_rebalance_latency_total", **one) == 2000
    assert read("coordinator_rebalance_latency_max", **one) == 2000
    assert read("coordinator_rebalance_total", **one) == 1
    assert read("coordinator_rebalance_rate_per_hour", **one) == pytest.approx(3600 / 37)
    assert read("coordinator_last_rebalance_seconds_ago", **one) == 5
    assert read("worker_rebalance_time_since_last_rebalance_ms") == 5000
    assert read("worker_rebalance_leader_name", leader_name="http://here:8083/") == 1
    assert read("worker_rebalance_connect_protocol", connect_protocol="SESSIONED") == 1


def test_transactions(worker: WorkerMetrics, read: Callable[..., float]) -> None:
    source = worker.source_task(TASK, NO_PLUGINS)
    for records in (2, 6):
        source.transaction_committed(records, 5)
    one = {"connector": "c", "task": "0"}
    assert read("source_task_transaction_size_min", **one) == 2
    assert read("source_task_transaction_size_max", **one) == 6
    assert read("source_task_transaction_size_avg", **one) == 4
    assert read("connector_task_offset_commit_max_time_ms", **one) == 5


def test_each_group_has_the_numbers_that_are_read_for_it(worker: WorkerMetrics) -> None:
    """A number that its group does not name would be left out without a word."""
    tasks = (worker.source_task(TASK, NO_PLUGINS), worker.sink_task(TaskId("d", 0), NO_PLUGINS))
    for reading in (one for task in tasks for one in task.read(0.0)):
        assert set(reading.values) - {*reading.group.numbers, *reading.group.texts} == set()

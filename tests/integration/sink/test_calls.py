"""Which calls a sink task gets, in which order, on which thread, and what becomes of their failures."""

from tests.integration.sink.conftest import StartSink
from tests.integration.sink.kafka_topics import Topics


def test_s1_37_calls_come_in_order_and_on_one_thread(start_sink: StartSink, topics: Topics, topic_prefix: str) -> None:
    topic = topics.create(f"{topic_prefix}t", partitions=2)
    topics.write(topic, ["a", "b"], partition=0)
    sink = start_sink({"topics": topic})
    sink.await_values(2)
    topics.write(topic, ["c"], partition=1)
    sink.await_values(3)
    topics.await_committed(sink.group, topic, {0: 2, 1: 1})
    sink.stop()

    calls = sink.calls()
    names = [call["call"] for call in calls]
    assert names[:2] == ["start", "open"]
    assert names[-4:] == ["pre_commit", "flush", "close", "stop"]
    assert set(names[2:-4]) == {"put", "pre_commit", "flush"}
    assert names.count("flush") == names.count("pre_commit")
    assert {call["thread"] for call in calls} == {f"task-thread-{sink.name}-0"}
    assert calls[1]["partitions"] == calls[-2]["partitions"] == [f"{topic}-0", f"{topic}-1"]


def test_s1_14_consumer_settings_of_the_worker_limit_a_put(
    start_sink: StartSink, topics: Topics, topic_prefix: str
) -> None:
    topic = topics.create(f"{topic_prefix}t", partitions=2)
    for partition in (0, 1):
        topics.write(topic, map(str, range(6)), partition)
    sink = start_sink({"topics": topic}, {"consumer.max.poll.records": "1"})
    sink.await_values(12)
    assert [len(records) for records in sink.puts()] == [1] * 12
    for partition in (0, 1):
        offsets = [offset for put in sink.puts() for number, offset, _ in put if number == partition]
        assert offsets == list(range(6))


def test_a_task_without_partitions_runs(start_sink: StartSink, topics: Topics, topic_prefix: str) -> None:
    """Failed: librdkafka refuses to tell the offsets of no partitions, which ended a task that was left none."""
    topic = topics.create(f"{topic_prefix}t")
    sink = start_sink({"topics": topic, "tasks.max": "2"})
    sink.wait(lambda: {len(sink.task(number)._context.assignment) for number in (0, 1)} == {0, 1}, "one partition")
    (idle,) = (number for number in (0, 1) if not sink.task(number)._context.assignment)
    consumer = sink.task(idle)._joined
    assert (consumer.committed_or_reset([]), consumer.resets({}), consumer.ends([])) == ({}, {}, {})
    topics.write(topic, "a")
    sink.await_values(1)
    sink.await_states("RUNNING", "RUNNING", "RUNNING")


def test_two_tasks_share_partitions_and_lose_nothing_when_they_change_hands(
    start_sink: StartSink, topics: Topics, topic_prefix: str
) -> None:
    topic = topics.create(f"{topic_prefix}t", partitions=4)
    sent = []
    sink = start_sink({"topics": topic, "tasks.max": "2"})
    sink.await_states("RUNNING", "RUNNING", "RUNNING")
    sink.wait(
        lambda: [len(sink.task(number)._context.assignment) for number in (0, 1)] == [2, 2], "two partitions each"
    )
    for number in range(6):
        for partition in range(4):
            values = [f"{number}-{partition}-{index}" for index in range(500)]
            topics.write(topic, values, partition)
            sent += values
        if number == 0:
            sink.await_values(len(sent))
        if number % 2:
            sink.restart(number % 4 // 2)
    sink.await_values(len(sent), 90)
    sink.await_states("RUNNING", "RUNNING", "RUNNING")
    assert sorted(sink.values()) == sorted(sent)
    assert {call["task"] for call in sink.calls("put")} == {0, 1}
    sink.stop()
    assert topics.lag(sink.group, topic) == 0

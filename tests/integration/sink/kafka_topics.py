"""Topics, records and groups, as tests of sinks need them."""

import time
from collections.abc import Iterable, Mapping

from confluent_kafka import (
    Consumer,
    ConsumerGroupState,
    KafkaException,
    Producer,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec  # type: ignore[attr-defined]

SECONDS = 20


class Topics:
    """What a test does to a broker besides running connectors.

    Args:
        bootstrap: the broker.
    """

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap
        self.admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})

    def create(self, topic: str, partitions: int = 1, config: Mapping[str, str] | None = None) -> str:
        """Create a topic; answers its name."""
        new = NewTopic(topic, num_partitions=partitions, replication_factor=1, config=dict(config or {}))
        self.admin.create_topics([new])[topic].result(SECONDS)
        return topic

    def create_again(self, topic: str) -> None:
        """Delete a topic and create it, unless a consumer that still asks for it has made the broker create it."""
        before = self._id(topic)
        self.admin.delete_topics([topic])[topic].result(SECONDS)
        deadline = time.monotonic() + SECONDS
        while self._id(topic) in (None, before):
            assert time.monotonic() < deadline
            try:
                self.create(topic)
                return
            except KafkaException:  # it is still there, or again
                time.sleep(0.05)

    def _id(self, topic: str) -> str | None:
        described = self.admin.describe_topics(TopicCollection([topic]))[topic]
        try:
            return str(described.result(SECONDS).topic_id)
        except KafkaException:
            return None

    def remove_before(self, topic: str, offset: int) -> None:
        """Remove the first records of a topic with one partition, as retention does."""
        place = TopicPartition(topic, 0, offset)
        self.admin.delete_records([place])[place].result(SECONDS)

    def write(
        self, topic: str, values: Iterable[str | bytes | None], partition: int = 0, key: str | None = None
    ) -> None:
        """Send records and wait until the broker has them."""
        # In one batch of the log, so that a sink reads all or none; the flush ends the wait.
        producer = Producer({"bootstrap.servers": self.bootstrap, "linger.ms": 1000})
        for value in values:
            while True:
                try:
                    producer.produce(topic, value=value, key=key, partition=partition)
                    break
                except BufferError:
                    producer.poll(0.1)
        left = producer.flush(SECONDS * 3)
        assert left == 0, f"{left} records were not sent"

    def committed(self, group: str, topic: str) -> dict[int, int]:
        """Committed offsets of a group by partition; those without one are left out.

        By a consumer that never joins: librdkafka's admin client crashes while the group's coordinator moves.
        """
        consumer = self.consumer(group)
        try:
            places = [TopicPartition(topic, number) for number in self._partitions(topic)]
            return {one.partition: one.offset for one in consumer.committed(places, timeout=SECONDS) if one.offset >= 0}
        finally:
            consumer.close()

    def ends(self, topic: str) -> dict[int, int]:
        """End offsets by partition."""
        latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
        asked = {TopicPartition(topic, number): latest for number in self._partitions(topic)}
        return {
            place.partition: found.result(SECONDS).offset for place, found in self.admin.list_offsets(asked).items()
        }

    def lag(self, group: str, topic: str) -> int:
        """Records between the committed offsets of a group and the ends."""
        committed = self.committed(group, topic)
        return sum(end - committed.get(partition, 0) for partition, end in self.ends(topic).items())

    def members(self, group: str) -> list[str]:
        """Ids of the members of a group."""
        described = self.admin.describe_consumer_groups([group])[group].result(SECONDS)
        if described.state is ConsumerGroupState.DEAD:
            return []
        return sorted(member.member_id for member in described.members)

    def await_committed(self, group: str, topic: str, offsets: Mapping[int, int], seconds: float = 30) -> None:
        """Wait until a group has committed exactly these offsets."""
        deadline = time.monotonic() + seconds
        while (found := self._committed_if_told(group, topic)) != offsets:
            assert time.monotonic() < deadline, f"{group} has committed {found} of {topic}, not {dict(offsets)}"
            time.sleep(0.05)

    def _committed_if_told(self, group: str, topic: str) -> dict[int, int] | None:
        try:
            return self.committed(group, topic)
        except KafkaException:  # a new broker, or one that is away, knows no coordinator yet
            return None

    def consumer(self, group: str) -> Consumer:
        """Another consumer for a group."""
        return Consumer({"bootstrap.servers": self.bootstrap, "group.id": group, "auto.offset.reset": "earliest"})

    def _partitions(self, topic: str) -> list[int]:
        return sorted(self.admin.list_topics(topic, timeout=SECONDS).topics[topic].partitions)

"""Sizes of topics on the brokers' disks (DescribeLogDirs, KIP-113), which librdkafka does not request."""

from collections.abc import Iterable

from kafka import errors as kafka_errors

from connect_dagster.kafka.access import Bootstrap, client_settings
from connect_dagster.kafka.python_admin import kafka_exception, open_admin


def fetch_topic_sizes(
    bootstrap_servers: Bootstrap, topics: Iterable[str], timeout: float
) -> dict[tuple[str, int], int]:
    """Return the bytes of each partition of ``topics`` that exists, those of its largest replica.

    Args:
        bootstrap_servers: Kafka brokers, host:port, separated by commas; or with settings of clients.
        topics: Names of topics.
        timeout: Bound for the wait for brokers, and for each request, in seconds.

    Raises:
        KafkaException: A broker does not respond in time, or refuses: it takes DESCRIBE on the cluster.
        ConfigError: The login is one that only librdkafka has.
    """
    wanted = set(topics)
    found: dict[tuple[str, int], int] = {}
    with open_admin(client_settings(bootstrap_servers), wait=timeout, request=timeout) as admin:
        directories = [one for broker in admin.describe_log_dirs() for one in broker["log_dirs"]]
    for directory in directories:
        if directory["error_code"]:
            raise kafka_exception(kafka_errors.for_code(directory["error_code"])())
        for topic in directory["topics"]:
            if topic["name"] in wanted:
                for replica in topic["partitions"]:
                    place = (topic["name"], replica["partition_index"])
                    found[place] = max(found.get(place, 0), replica["partition_size"])
    return found

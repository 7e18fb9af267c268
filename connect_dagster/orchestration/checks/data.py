"""The check ``source_matches_sink``: rows of the source have arrived in the sink.

Runs of the check, never sensors, read the number of rows and the keys of each side. Files and topics are read here;
for other stores :class:`QueriedRows` takes three functions of the user, such as queries of a database.
"""

import heapq
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dagster as dg
from confluent_kafka import Message
from dagster import AssetCheckKey, MetadataValue

from connect_dagster.client.masking import mask_text
from connect_dagster.kafka.access import Brokers
from connect_dagster.kafka.errors import BrokersError
from connect_dagster.kafka.topic_reading import read_topic
from connect_dagster.orchestration.checks.connector_checks import (
    CheckOutcome,
    ConnectorAsset,
    connector_assets,
    connector_checks,
)
from connect_dagster.orchestration.workspace import KafkaConnectWorkspace

DATA_CHECK = "source_matches_sink"
SHOWN_KEYS = 10
LONGEST_KEY = 100


@dataclass(frozen=True, slots=True)
class Survey:
    """Number of rows of one side, and keys of some of them."""

    rows: int
    keys: frozenset[str]


class DataSide(ABC):
    """Rows with keys on one side of a connector."""

    @abstractmethod
    def sample(self, size: int) -> Survey:
        """Count the rows, and take the keys of at most ``size`` of them."""

    @abstractmethod
    def find(self, keys: Collection[str]) -> Survey:
        """Count the rows, and find those of ``keys`` that are there."""


class StreamedRows(DataSide):
    """Rows that can only be read from first to last."""

    @abstractmethod
    def read(self) -> Iterator[str]:
        """Yield the keys of all rows."""

    def sample(self, size: int) -> Survey:
        """Count the rows, and take keys spread over all of them, the same ones each time."""
        counted = _Counted(self.read())
        chosen = heapq.nsmallest(size, counted, key=lambda key: zlib.crc32(key.encode()))
        return Survey(counted.rows, frozenset(chosen))

    def find(self, keys: Collection[str]) -> Survey:
        """Count the rows, and find those of ``keys`` among them."""
        searched, counted = frozenset(keys), _Counted(self.read())
        found = frozenset(key for key in counted if key in searched)
        return Survey(counted.rows, found)


@dataclass(frozen=True, slots=True)
class FileLines(StreamedRows):
    """Lines of a file.

    Attributes:
        file: The file, in UTF-8.
        key: The key of a line, which comes without its end; the line itself by default.
    """

    file: str | Path
    key: Callable[[str], str] = str

    def read(self) -> Iterator[str]:
        """Yield the keys of all lines. Raises OSError."""
        with Path(self.file).open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                yield self.key(line.removesuffix("\n"))


def value_text(message: Message) -> str:
    """Return the value of a record as text; empty for a tombstone."""
    return (message.value() or b"").decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class TopicRecords(StreamedRows):
    """Records of a topic, up to where it ends when the reading begins.

    Attributes:
        bootstrap_servers: Kafka brokers, host:port, separated by commas.
        topic: Its name.
        key: The key of a record; the text of its value by default.
        timeout: Longest time without a record before the end, in seconds.
        client_properties: Settings of clients in Java's names, for brokers that want a login or a certificate.
    """

    bootstrap_servers: str
    topic: str
    key: Callable[[Message], str] = value_text
    timeout: float = 10.0
    client_properties: Mapping[str, str] = field(default_factory=dict, repr=False)

    def read(self) -> Iterator[str]:
        """Return the keys of all records. Raises BrokersError."""
        brokers = Brokers(self.bootstrap_servers, self.client_properties)
        return map(self.key, read_topic(brokers, self.topic, self.timeout))


@dataclass(frozen=True, slots=True)
class QueriedRows(DataSide):
    """Rows of a store with queries, such as a database.

    Attributes:
        count: The number of rows: ``select count(*) from …``.
        some_keys: Keys of at most n rows: ``select id from … limit …``.
        present_keys: Those of the given keys that are there: ``select id from … where id in (…)``.
    """

    count: Callable[[], int]
    some_keys: Callable[[int], Collection[str]]
    present_keys: Callable[[Collection[str]], Collection[str]]

    def sample(self, size: int) -> Survey:
        """Query the count and some keys."""
        return Survey(self.count(), frozenset(self.some_keys(size)))

    def find(self, keys: Collection[str]) -> Survey:
        """Query the count and these keys."""
        return Survey(self.count(), frozenset(self.present_keys(keys)) & frozenset(keys))


class _Counted:
    """An iterator of keys that counts them."""

    def __init__(self, keys: Iterator[str]) -> None:
        self._keys = keys
        self.rows = 0

    def __iter__(self) -> Iterator[str]:
        for key in self._keys:
            self.rows += 1
            yield key


def build_connector_data_checks(
    *,
    workspace: KafkaConnectWorkspace,
    connector: ConnectorAsset,
    source: DataSide,
    sink: DataSide,
    sample_size: int = 100,
    max_difference: int = 0,
) -> Sequence[dg.AssetChecksDefinition]:
    """Create the check ``source_matches_sink`` of a connector's asset.

    It counts the rows of both sides, and searches the sink for the keys of some of the source's rows. Rows may arrive
    while the check reads both sides: ``max_difference`` allows for that.

    Args:
        workspace (KafkaConnectWorkspace): The Connect cluster.
        connector (str | AssetSpec | AssetsDefinition): The connector by name, or as an asset; of a chain, the last one.
        source (DataSide): Its input: :class:`FileLines`, :class:`TopicRecords`, or :class:`QueriedRows` for a
            database.
        sink (DataSide): Its output.
        sample_size (int): Number of the source's keys to search for. Defaults to 100.
        max_difference (int): Largest difference of the two counts, and most missing keys. Defaults to 0.

    Returns:
        Sequence[AssetChecksDefinition]: The check.

    Examples:
        .. code-block:: python

            import dagster as dg
            from connect_dagster.orchestration import FileLines, KafkaConnectWorkspace, build_connector_data_checks

            checks = build_connector_data_checks(
                workspace=KafkaConnectWorkspace(),
                connector="local-file-sink",
                source=FileLines("test.txt"),
                sink=FileLines("test.sink.txt"),
            )
            defs = dg.Definitions(asset_checks=checks)
    """

    def judge(
        context: dg.AssetCheckExecutionContext, ready: KafkaConnectWorkspace, keys: Mapping[str, AssetCheckKey]
    ) -> Mapping[str, CheckOutcome]:
        return {name: data_outcome(source, sink, sample_size, max_difference) for name in keys}

    return connector_checks(
        name=DATA_CHECK,
        description="Rows of the source, and a sample of their keys, are in the sink.",
        workspace=workspace,
        assets=connector_assets(workspace, [connector]),
        judge=judge,
    )


def data_outcome(source: DataSide, sink: DataSide, sample_size: int, max_difference: int) -> CheckOutcome:
    """Read both sides and compare them."""
    try:
        sent = source.sample(sample_size)
        arrived = sink.find(sent.keys)
    except (OSError, BrokersError) as error:
        return CheckOutcome(False, mask_text(f"The sides cannot be compared: {error}"))
    missing = sorted(sent.keys - arrived.keys)
    difference = sent.rows - arrived.rows
    metadata: dict[str, Any] = {
        "source_rows": sent.rows,
        "sink_rows": arrived.rows,
        "row_difference": difference,
        "sampled_keys": len(sent.keys),
        "missing_keys": len(missing),
    }
    if missing:
        shown = [mask_text(key[:LONGEST_KEY]) for key in missing[:SHOWN_KEYS]]
        metadata["first_missing_keys"] = MetadataValue.json(shown)
    message = (
        f"{sent.rows} rows in the source, {arrived.rows} in the sink; "
        f"{len(missing)} of {len(sent.keys)} sampled keys are missing"
    )
    return CheckOutcome(abs(difference) <= max_difference and len(missing) <= max_difference, message, metadata)

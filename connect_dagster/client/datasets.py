"""Properties that a translator turns into assets: connectors, and the data at either end of them.

Values without Dagster in them; :mod:`connect_dagster.client.lineage` reads them off configurations. The ``key_prefix``
of data begins its asset key: it is that of the workspace.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from connect_dagster.client.types import Direction


@dataclass(frozen=True, slots=True)
class KafkaConnectTopicProps:
    """A Kafka topic.

    Attributes:
        topic: Its name.
        cluster: Alias of the Kafka cluster it is on; None for the cluster of the Connect workers.
        bootstrap_servers: Brokers it is reached by, when known.
        key_prefix: See the module.
    """

    topic: str
    cluster: str | None = None
    bootstrap_servers: str | None = None
    key_prefix: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class KafkaConnectTableProps:
    """A table of a database, or what another store calls it: a collection, an index.

    Attributes:
        system: Kind of the store, such as ``mysql``.
        path: Names that lead to it: database, schema where there is one, table.
        server: Address of the store, as its connector has it, without credentials; None when not known. Two tables are
            equal whatever way leads to them.
        key_prefix: See the module.
    """

    system: str
    path: tuple[str, ...]
    server: str | None = field(default=None, compare=False)
    key_prefix: tuple[str, ...] = ()

    @property
    def table_name(self) -> str:
        """Return its qualified name."""
        return ".".join(self.path)


@dataclass(frozen=True, slots=True)
class KafkaConnectBucketProps:
    """Objects of an object store.

    Attributes:
        system: Kind of the store, which is the scheme of its addresses, such as ``s3``.
        bucket: Name of the bucket.
        prefix: What the objects' names begin with.
        key_prefix: See the module.
    """

    system: str
    bucket: str
    prefix: str
    key_prefix: tuple[str, ...] = ()

    @property
    def uri(self) -> str:
        """Return the URI of the objects."""
        return f"{self.system}://{self.bucket}/{self.prefix}"


@dataclass(frozen=True, slots=True)
class KafkaConnectFileProps:
    """A file beside the worker, with the path its connector knows it by.

    Attributes:
        file: The path.
        key_prefix: See the module.
    """

    file: str
    key_prefix: tuple[str, ...] = ()


KafkaConnectDatasetProps: TypeAlias = (
    KafkaConnectTopicProps | KafkaConnectTableProps | KafkaConnectBucketProps | KafkaConnectFileProps
)


def topic_names(ends: Iterable[KafkaConnectDatasetProps | None]) -> frozenset[str]:
    """Return the names of topics among data."""
    return frozenset(end.topic for end in ends if isinstance(end, KafkaConnectTopicProps))


@dataclass(frozen=True, slots=True)
class KafkaConnectConnectorProps:
    """A connector between what it reads and what it writes.

    Attributes:
        cluster: Name of the Connect cluster it belongs to.
        name: Its own name.
        type: Which way it moves records.
        config: Its configuration, with secrets masked.
        system: Kind of the store beside Kafka, such as ``mysql``; None when its class is not known.
        inputs: What it reads.
        outputs: What it writes.
        rest_url: Address of the connector in the cluster's REST API; None before a cluster is known.
    """

    cluster: str
    name: str
    type: Direction
    config: Mapping[str, str | None]
    system: str | None
    inputs: tuple[KafkaConnectDatasetProps, ...]
    outputs: tuple[KafkaConnectDatasetProps, ...]
    rest_url: str | None = None

    @property
    def connector_class(self) -> str:
        """Return the value of ``connector.class``."""
        return self.config.get("connector.class") or ""

"""A broker inside of librdkafka whose answers a test chooses."""

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from confluent_kafka import KafkaError, Producer

from connect_dagster.kafka.librdkafka import handle_of, library_file

PRODUCE, INIT_PRODUCER_ID = 0, 22
_BROKER = 1
_pointer, _text, _int = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int


@dataclass(frozen=True, slots=True)
class MockCluster:
    """One broker.

    Attributes:
        bootstrap_servers: its address.
    """

    bootstrap_servers: str
    _functions: ctypes.CDLL
    _handle: int

    def create(self, topic: str) -> None:
        """Create a topic of one partition."""
        assert self._functions.rd_kafka_mock_topic_create(_pointer(self._handle), topic.encode(), 1, 1) == 0

    def fail_next(self, api: int, error: int = KafkaError.NOT_LEADER_FOR_PARTITION) -> None:
        """Answer the next request of an API with an error."""
        fail = self._functions.rd_kafka_mock_push_request_errors
        fail(_pointer(self._handle), ctypes.c_int16(api), ctypes.c_size_t(1), _int(error))

    def answer_after(self, milliseconds: int) -> None:
        """Let each request wait for its answer."""
        delay = self._functions.rd_kafka_mock_broker_set_rtt
        assert delay(_pointer(self._handle), ctypes.c_int32(_BROKER), milliseconds) == 0


@contextmanager
def mock_cluster() -> Iterator[MockCluster]:
    """Run a broker."""
    functions = ctypes.CDLL(str(library_file()))
    functions.rd_kafka_handle_mock_cluster.restype = _pointer
    functions.rd_kafka_mock_cluster_bootstraps.restype = _text
    owner = Producer({"test.mock.num.brokers": 1})  # ends with it
    handle = functions.rd_kafka_handle_mock_cluster(_pointer(handle_of(owner)))
    bootstrap_servers = functions.rd_kafka_mock_cluster_bootstraps(_pointer(handle)).decode()
    yield MockCluster(bootstrap_servers, functions, handle)
    owner.flush()

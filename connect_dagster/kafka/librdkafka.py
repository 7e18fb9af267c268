"""librdkafka's own functions for what confluent-kafka's API lacks, by ctypes, of the library inside its wheel."""

from __future__ import annotations

import ctypes
import logging
import math
import time
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import confluent_kafka

if TYPE_CHECKING:
    from connect_dagster.kafka.security.sasl_relay import SaslRelay

log = logging.getLogger(__name__)

# librdkafka itself turns to the bootstrap servers within milliseconds.
_CHECK_SECONDS = 2.0

_pointer, _text, _int, _size = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_size_t
_FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "conf_new": (_pointer,),
    "conf_destroy": (None, _pointer),
    "conf_set": (_int, _pointer, _text, _text, _pointer, _size),
    "conf_set_events": (None, _pointer, _int),
    "conf_interceptor_add_on_new": (_int, _pointer, _text, _pointer, _pointer),
    "conf_set_resolve_cb": (None, _pointer, _pointer),
    "conf": (_pointer, _pointer),
    "new": (_pointer, _int, _pointer, _pointer, _size),
    "name": (_text, _pointer),
    "destroy": (None, _pointer),
    "set_log_queue": (_int, _pointer, _pointer),
    "queue_get_main": (_pointer, _pointer),
    "queue_poll": (_pointer, _pointer, _int),
    "queue_destroy": (None, _pointer),
    "event_type": (_int, _pointer),
    "event_error": (_int, _pointer),
    "event_error_string": (_text, _pointer),
    "event_log": (_int, _pointer, _pointer, _pointer, _pointer),
    "event_stats": (_text, _pointer),
    "event_message_count": (_size, _pointer),
    "event_message_array": (_size, _pointer, _pointer, _size),
    "event_destroy": (None, _pointer),
    "oauthbearer_set_token": (_int, _pointer, _text, ctypes.c_int64, _text, _pointer, _size, _pointer, _size),
    "oauthbearer_set_token_failure": (_int, _pointer, _text),
    "fatal_error": (_int, _pointer, _pointer, _size),
    "topic_new": (_pointer, _pointer, _text, _pointer),
    "topic_name": (_text, _pointer),
    "topic_destroy": (None, _pointer),
    "produce_batch": (_int, _pointer, ctypes.c_int32, _int, _pointer, _int),
    "error_code": (_int, _pointer),
    "error_string": (_text, _pointer),
    "error_is_fatal": (_int, _pointer),
    "error_is_retriable": (_int, _pointer),
    "error_txn_requires_abort": (_int, _pointer),
    "error_destroy": (None, _pointer),
    "init_transactions": (_pointer, _pointer, _int),
    "begin_transaction": (_pointer, _pointer),
    "commit_transaction": (_pointer, _pointer, _int),
    "abort_transaction": (_pointer, _pointer, _int),
    "flush": (_int, _pointer, _int),
    "purge": (_int, _pointer, _int),
    "metadata": (_int, _pointer, _int, _pointer, _pointer, _int),
    "metadata_destroy": (None, _pointer),
    "err2str": (_text, _int),
    "brokers_add": (_int, _pointer, _text),
    "brokers_learned_ids": (_pointer, _pointer, _pointer),
    "mem_free": (None, _pointer, _pointer),
}


def library_file() -> Path:
    """Return the file of the library.

    Raises:
        OSError: the wheel of confluent-kafka does not contain it.
    """
    found = list((Path(confluent_kafka.__file__).parents[1] / "confluent_kafka.libs").glob("librdkafka*.so*"))
    if len(found) != 1:
        raise OSError(f"confluent-kafka has {len(found)} librdkafka libraries")
    return found[0]


@cache
def library() -> SimpleNamespace:
    """Return librdkafka's functions, without their prefix ``rd_kafka_``.

    Raises:
        OSError: the wheel of confluent-kafka does not contain the library.
        AttributeError: the library has not all functions.
    """
    library = ctypes.CDLL(str(library_file()))
    functions = SimpleNamespace()
    for name, (result, *arguments) in _FUNCTIONS.items():
        function = getattr(library, f"rd_kafka_{name}")
        function.restype, function.argtypes = result, arguments
        setattr(functions, name, function)
    return functions


def handle_of(client: object) -> int | None:
    """Return the address of librdkafka's handle, the first field of confluent-kafka's; ``None`` of a closed client."""
    return ctypes.c_void_p.from_address(id(client) + object.__basicsize__).value


def find_brokers(handle: int | None, seconds: float) -> None:
    """Wait until a client has the names of the brokers, or the time is over.

    A transactional producer without them looks for its coordinator again half a second later.
    """
    with suppress(OSError, AttributeError):
        functions, found = library(), ctypes.c_void_p()
        functions.metadata(handle, 0, None, ctypes.byref(found), math.ceil(seconds * 1000))
        if found.value is not None:
            functions.metadata_destroy(found)


def connect_by(relay: SaslRelay, client: object, servers: str) -> None:
    """Have a client of confluent-kafka, which knows no brokers yet, connect by a relay.

    Args:
        relay: to the brokers.
        client: created without ``bootstrap.servers``.
        servers: brokers as ``host:port``, separated by commas.
    """
    # confluent-kafka has no parameter for the callback. The settings are for reading only, but none of the client's
    # threads has read the callback before there is a broker.
    handle = handle_of(client)
    library().conf_set_resolve_cb(library().conf(handle), relay.resolve)
    library().brokers_add(handle, servers.encode())


class Rebootstrap:
    """Adds the bootstrap servers again to a client that librdkafka has left without any broker.

    Brokers that are not in the last response are forgotten, also when that names none, as that of a broker that has
    just been fenced. librdkafka 2.16 turns to the bootstrap servers then, but not once a connection was lost while
    it read an earlier response: it believes that it does so already (confluentinc/librdkafka#5301).

    Args:
        config: librdkafka's settings of the client.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._servers = str(config.get("bootstrap.servers", ""))
        self._next = math.inf if config.get("metadata.recovery.strategy") == "none" else 0.0
        self._had_brokers = False

    def serve(self, handle: int | None) -> None:
        """Add the servers when all brokers are forgotten; call it after each poll, on the client's thread."""
        now = time.monotonic()
        if now < self._next or handle is None:
            return
        self._next = now + _CHECK_SECONDS
        try:
            if _knows_brokers(handle):
                self._had_brokers = True
            elif self._had_brokers:
                library().brokers_add(handle, self._servers.encode())
        except (OSError, AttributeError) as error:
            self._next = math.inf
            log.warning("A client that forgets its brokers will not find them again: %s", error)


def _knows_brokers(handle: int) -> bool:
    count = ctypes.c_size_t()
    library().mem_free(handle, library().brokers_learned_ids(handle, ctypes.byref(count)))
    return count.value > 0

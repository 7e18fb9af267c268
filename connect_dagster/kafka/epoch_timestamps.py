"""Timestamp 0 for records of librdkafka, which takes 0 for the current time (``rd_kafka_msg_new0``).

A record is produced with a substitute. An interceptor of librdkafka, which is called before the record is queued,
looks for it in the private fields behind the ``rd_kafka_message_t``, writes 0 there, and asks librdkafka for the
record's timestamp. Where that is not 0, the record gets a partition that no topic has: no broker ever gets it.
"""

from __future__ import annotations

import ctypes

from connect_dagster.kafka.librdkafka import library
from connect_dagster.kafka.machine_code import compiled

SUBSTITUTE = -(2**63)
"""The timestamp to produce a record with whose own is 0; one that no record has."""

_FIRST, _LAST = 9, 24  # the words of 8 bytes behind the message that may be the timestamp
_PARTITION, _NO_PARTITION = 16, 2**31 - 1
_ON_NEW, _ON_SEND = "epoch_on_new", "epoch_on_send"


def _source(last: int) -> str:
    """Return the interceptor's functions; ``on_new`` adds ``on_send``, whose last argument has :class:`_State`."""
    return f"""
@name = private constant [6 x i8] c"epoch\\00"

declare i32 @rd_kafka_interceptor_add_on_send(ptr, ptr, ptr, ptr)
declare i64 @rd_kafka_message_timestamp(ptr, ptr)

define i32 @{_ON_NEW}(ptr %client, ptr %conf, ptr %state, ptr %text, i64 %size) {{
  %error = call i32 @rd_kafka_interceptor_add_on_send(ptr %client, ptr @name, ptr @{_ON_SEND}, ptr %state)
  ret i32 %error
}}

define i32 @{_ON_SEND}(ptr %client, ptr %message, ptr %state) {{
begin:
  %wanted_place = getelementptr i64, ptr %state, i64 1
  %wanted = load i64, ptr %wanted_place
  %is_wanted = icmp ne i64 %wanted, 0
  br i1 %is_wanted, label %ask, label %done
ask:
  %given = call i64 @rd_kafka_message_timestamp(ptr %message, ptr null)
  %is_substitute = icmp eq i64 %given, {SUBSTITUTE}
  br i1 %is_substitute, label %next, label %done
next:
  %word = phi i64 [{_FIRST}, %ask], [%following, %other], [%following, %wrong]
  %place = getelementptr i64, ptr %message, i64 %word
  %following = add i64 %word, 1
  %is_within = icmp sle i64 %word, {last}
  br i1 %is_within, label %look, label %failed
look:
  %content = load i64, ptr %place
  %is_found = icmp eq i64 %content, {SUBSTITUTE}
  br i1 %is_found, label %found, label %other
other:
  br label %next
found:
  store i64 0, ptr %place
  %written = call i64 @rd_kafka_message_timestamp(ptr %message, ptr null)
  %is_written = icmp eq i64 %written, 0
  br i1 %is_written, label %done, label %wrong
wrong:
  store i64 {SUBSTITUTE}, ptr %place
  br label %next
failed:
  %partition = getelementptr i8, ptr %message, i64 {_PARTITION}
  store i32 {_NO_PARTITION}, ptr %partition
  %count = atomicrmw add ptr %state, i64 1 monotonic
  br label %done
done:
  ret i32 0
}}
"""


class _State(ctypes.Structure):
    """Where the interceptor looks, and counts."""

    _fields_ = (("failures", ctypes.c_int64), ("is_wanted", ctypes.c_int64))


class EpochTimestamps:
    """The interceptor of one client.

    Args:
        config: address of the client's ``rd_kafka_conf_t``.

    Raises:
        AttributeError: the library has no interceptors.
        ValueError: it refuses this one.
    """

    def __init__(self, config: int) -> None:
        self._state = _State()  # librdkafka has its address
        on_new = compiled(_source(_LAST)).get_function_address(_ON_NEW)
        if library().conf_interceptor_add_on_new(config, b"epoch", on_new, ctypes.byref(self._state)):
            raise ValueError("librdkafka takes no interceptor for timestamp 0")

    def expect(self, *, substitutes: bool) -> None:
        """Say whether records that are produced from now on may have a substitute."""
        self._state.is_wanted = substitutes

    def failed(self) -> bool:
        """Return whether a record has not got timestamp 0, and was not written."""
        return bool(self._state.failures)

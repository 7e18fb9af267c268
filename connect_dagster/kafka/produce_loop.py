"""Calls ``rd_kafka_produceva`` for many records, in a loop of machine code and without the GIL.

By ctypes the calls take four times as long as what librdkafka does in them
(docs/decisions/0046-a-loop-of-machine-code.md).
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache

import numpy as np
import numpy.typing as npt

from connect_dagster.kafka.machine_code import compiled

_NAME = "produce_rows"
_LOOP = f"""
declare i64 @rd_kafka_produceva(i64, i64, i64)

define i64 @{_NAME}(i64 %handle, ptr %fields, ptr %counts, i64 %first, i64 %rows, ptr %error) {{
begin:
  br label %next
next:
  %row = phi i64 [%first, %begin], [%following, %taken]
  %is_row = icmp slt i64 %row, %rows
  br i1 %is_row, label %produce, label %end
produce:
  %field_place = getelementptr i64, ptr %fields, i64 %row
  %count_place = getelementptr i64, ptr %counts, i64 %row
  %field = load i64, ptr %field_place
  %count = load i64, ptr %count_place
  %failed = call i64 @rd_kafka_produceva(i64 %handle, i64 %field, i64 %count)
  %is_taken = icmp eq i64 %failed, 0
  br i1 %is_taken, label %taken, label %refused
taken:
  %following = add i64 %row, 1
  br label %next
refused:
  store i64 %failed, ptr %error
  br label %end
end:
  ret i64 %row
}}
"""


def produce_rows(
    handle: int | None, fields: npt.NDArray[np.int64], counts: npt.NDArray[np.int64], first: int
) -> tuple[int, int]:
    """Queue records up to the first that librdkafka does not take.

    Args:
        handle: of the producer.
        fields: of each record, the address of its fields, which are ``rd_kafka_vu_t``.
        counts: of each record, the number of its fields.
        first: number of the record to begin with.

    Returns:
        The number of the record that was not taken and the address of its ``rd_kafka_error_t``, which is the caller's
        to destroy; the number of records and 0 where all were taken.
    """
    error = ctypes.c_int64(0)
    row = _loop()(handle, fields.ctypes.data, counts.ctypes.data, first, len(fields), ctypes.byref(error))
    return row, error.value


@cache
def _loop() -> Callable[..., int]:
    """Compile the loop; a process without such records does not load the compiler."""
    engine = compiled(_LOOP)
    address, number = ctypes.c_void_p, ctypes.c_int64
    kind = ctypes.CFUNCTYPE(number, address, address, address, number, number, address)
    return kind(engine.get_function_address(_NAME))

"""The options that decide on the types of records' fields. Does not load the decoder, which takes a second."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class DecimalMode(Enum):
    """``decimal.handling.mode``."""

    PRECISE = "precise"
    DOUBLE = "double"
    STRING = "string"


class BigIntUnsignedMode(Enum):
    """``bigint.unsigned.handling.mode``."""

    LONG = "long"
    PRECISE = "precise"


class BinaryMode(Enum):
    """``binary.handling.mode``."""

    BYTES = "bytes"
    BASE64 = "base64"
    BASE64_URL_SAFE = "base64-url-safe"
    HEX = "hex"


class TimePrecisionMode(Enum):
    """``time.precision.mode``, without ``adaptive``, which Debezium's connectors refuse."""

    ADAPTIVE_TIME_MICROSECONDS = "adaptive_time_microseconds"
    ISOSTRING = "isostring"
    CONNECT = "connect"
    MICROSECONDS = "microseconds"
    NANOSECONDS = "nanoseconds"


@dataclass(frozen=True, slots=True)
class TypeModes:
    """The options that decide on types."""

    decimals: DecimalMode = DecimalMode.PRECISE
    unsigned_bigints: BigIntUnsignedMode = BigIntUnsignedMode.LONG
    binary: BinaryMode = BinaryMode.BYTES
    times: TimePrecisionMode = TimePrecisionMode.ADAPTIVE_TIME_MICROSECONDS

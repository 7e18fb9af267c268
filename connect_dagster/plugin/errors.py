"""The errors that a plugin raises, and how Kafka Connect reacts to each: see :mod:`connect_dagster.errors`."""

from connect_dagster.errors import ConfigError, ConnectError, DataError, NotFoundError, RetriableError, RewindError

__all__ = ["ConfigError", "ConnectError", "DataError", "NotFoundError", "RetriableError", "RewindError"]

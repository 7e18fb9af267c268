"""Incremental snapshots: tables read in chunks while the log is read (DDD-3; Debezium's signal-based ones)."""

"""Any Spark format as a connector: what Spark can read as a stream, and what it can write."""

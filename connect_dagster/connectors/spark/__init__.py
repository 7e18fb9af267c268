"""Any Spark format as a connector: a source for streaming reads, a sink for writes."""

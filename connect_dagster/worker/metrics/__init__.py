"""Metrics of a worker: Kafka Connect's, under the names that dashboards use.

Java: ``ConnectMetrics`` and ``ConnectMetricsRegistry``. Connectors and tasks record once a batch; what is derived from
that is computed for each request.
"""

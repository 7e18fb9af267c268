"""What a worker measures of itself: Kafka Connect's metrics, under the names that dashboards know them by.

Java: ``ConnectMetrics`` and ``ConnectMetricsRegistry``. Connectors and tasks record once a batch; what is derived from
that is worked out when somebody asks.
"""

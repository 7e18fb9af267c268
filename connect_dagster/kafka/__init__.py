"""Kafka clients from Java's settings, topics, groups and dead letters; without a worker."""

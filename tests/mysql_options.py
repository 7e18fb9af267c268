"""Configurations of the connectors for tests."""

MINIMAL = {
    "topic.prefix": "shop",
    "database.hostname": "db.example",
    "database.user": "kim",
    "database.server.id": "184054",
    "schema.history.internal.kafka.topic": "shop-history",
    "schema.history.internal.kafka.bootstrap.servers": "broker:9092",
}
"""What both connectors require, and no more."""

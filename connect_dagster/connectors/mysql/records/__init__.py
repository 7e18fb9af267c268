"""Debezium's records: names of topics and schemas, and what is in them."""

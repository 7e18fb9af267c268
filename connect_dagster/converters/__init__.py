"""Bundled converters: between typed Spark columns and the bytes of Kafka records."""

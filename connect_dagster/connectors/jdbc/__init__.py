"""Databases by JDBC: a source that reads tables and queries, a sink that writes tables."""

"""Spark column expressions that connectors, converters and transforms share, with Java's results."""

"""Rows of tables, or of a query, as records."""

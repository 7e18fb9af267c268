"""The schema history: statements that change tables, kept in a topic and sent as records."""

"""Change data capture beside Debezium."""

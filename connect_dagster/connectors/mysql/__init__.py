"""Change data capture from MySQL and MariaDB, with the records and offsets of Debezium 3.6."""

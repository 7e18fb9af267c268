"""Snapshots of MySQL and MariaDB: locks, ranges of tables, and their rows by several readers."""

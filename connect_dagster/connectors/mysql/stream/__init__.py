"""The binary log as it comes from a server: connection, packets, transactions."""

"""Assets: what connectors, topics, tables and files are called, how they hang together, what is known of them."""

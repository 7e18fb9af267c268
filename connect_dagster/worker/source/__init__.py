"""Source tasks: from connectors to topics."""

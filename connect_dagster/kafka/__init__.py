"""What brokers know of a cluster's groups and topics, asked and read with a bound; no worker takes part."""

"""Records and calls that fail: policy, retries, reports, dead letter queue."""

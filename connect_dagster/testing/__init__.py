"""For tests of connectors and of workers: connectors that record what they are called with."""

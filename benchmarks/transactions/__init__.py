"""The benchmark of transactions: each worker with exactly-once sources and without (`make bench OF=transactions`)."""

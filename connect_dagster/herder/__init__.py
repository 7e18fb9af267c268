"""Operation of a worker: the interface that REST calls, and the herders of both modes."""

"""How a worker is operated: the interface that REST calls, and the herders of both modes."""

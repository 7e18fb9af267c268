"""How a worker is operated: the interface that REST calls, validation, and the herder of standalone mode."""

"""Hosting workers: one run is one life of a worker, which a sensor renews and a resource knows how to start."""

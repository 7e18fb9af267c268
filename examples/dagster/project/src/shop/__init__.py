"""A project made of YAML alone: what it runs stands in ``defs``."""

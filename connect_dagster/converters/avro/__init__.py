"""Avro records whose schemas lie in a registry, in both directions.

``types`` reads Avro schemas, ``from_connect`` and ``to_connect`` map them to Connect's, ``columns`` makes the Spark
expressions; ``converter`` is the plugin.
"""

"""Confluent's Schema Registry, and the bytes of records whose schemas lie in it.

``config`` has the options, ``registry`` speaks to the server, ``converter`` is the base of the converters.
"""

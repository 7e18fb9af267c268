"""Protobuf with a schema registry.

``descriptors`` reads ``.proto`` text, ``connect_schema`` and ``proto_text`` translate schemas both ways, ``messages``
describes a message to ``encoding`` and ``decoding``, which turn whole Arrow columns into bytes and back.
"""

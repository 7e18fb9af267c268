"""Converters of single values: strings, bytes, numbers, booleans, and simple header values."""

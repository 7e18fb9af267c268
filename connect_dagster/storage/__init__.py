"""Stores of configurations, offsets and statuses (Java: ``connect.storage``)."""

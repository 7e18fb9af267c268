"""Notifications: where snapshots are, for users and programs."""

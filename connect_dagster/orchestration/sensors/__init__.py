"""Sensors that watch connectors, restart failed ones, and keep declared ones as declared."""

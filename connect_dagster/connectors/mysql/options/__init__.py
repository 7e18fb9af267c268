"""Options of both connectors, in groups; ``config`` puts the groups together."""

"""The proxy: HTTP doors in front of the engine."""

"""The tolerant JSON reader."""

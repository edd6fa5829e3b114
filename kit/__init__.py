"""Qualify a fast inference engine for a decision model against its official reference."""

__version__ = "0.1.0"

"""Compute layer: forward, backward, accumulation and precision; what one replica does with one batch."""

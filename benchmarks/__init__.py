"""Measurements: deterministic inputs, and ratios within one run."""

"""Measurements, each beside baselines from the same run, because figures of one machine say little on another."""

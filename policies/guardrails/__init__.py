"""Guardrails as people write them: rules, what breaks them, and what nothing could satisfy."""

"""Writes of reports, findings and assertions."""

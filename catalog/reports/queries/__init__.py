"""Reads of reports, findings and assertions."""

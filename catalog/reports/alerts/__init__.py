"""Alerts: new critical findings, and nightly runs that failed or are late."""

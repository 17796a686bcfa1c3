"""Spark: a decision put into force on a table, and the session it runs in."""

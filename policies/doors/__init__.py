"""Doors for programs that speak other protocols about people."""

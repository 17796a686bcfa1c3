"""Shared parts of jobs: session, arguments, progress, and work in parallel over partitions. No Django."""

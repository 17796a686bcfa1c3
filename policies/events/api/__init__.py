"""The stream of events and the caller's notices in the API."""

"""Channels, a folder each: how what is told reaches its receivers.

The inbox and mail carry notices of people (`policies.events.notices` hands them over in the transaction that makes
them); webhooks will carry the events of the stream to programs.
"""

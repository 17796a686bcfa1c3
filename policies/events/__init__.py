"""Events: the stream of the outbox, who is told of what, and the channels that carry it."""

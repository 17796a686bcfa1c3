"""The place of webhooks: they will read the stream with a cursor of their own, as notices do."""

"""What Django finds commands under."""

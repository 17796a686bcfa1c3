"""What jobs share: the session, arguments and progress, and work spread over partitions. No Django."""

"""The policy decision point: facts, snapshot and decision at run time."""

"""The policy decision point: snapshot, facts and decisions at run time."""

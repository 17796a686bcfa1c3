"""What answers are worth while parts of an installation are away: real processes, watched and judged by the oracle."""

"""Questions about access: authorize, inverse queries, explanations, and the audit of decisions and changes."""

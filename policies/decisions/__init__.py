"""Questions about access: authorize, who, what, why, and the audit of answers."""

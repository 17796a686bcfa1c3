"""Django's backend for PostgreSQL, with a deadline for every wait."""

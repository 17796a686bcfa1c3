"""Django's database backend for PostgreSQL with a deadline for every wait."""

"""Unit tests of the engine: no database, milliseconds."""

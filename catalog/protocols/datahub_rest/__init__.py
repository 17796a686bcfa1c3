"""DataHub's REST protocol for its own clients: writes, reads, searches and deletes of entities.

Plain Django views, because errors, paths and leniency are those of that protocol. Access is decided elsewhere.
"""

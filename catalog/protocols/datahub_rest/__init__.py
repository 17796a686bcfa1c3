"""DataHub's REST protocol, as its own clients speak it: writes, reads, searches and deletes of entities.

Plain views, because errors, paths and leniency are those of that protocol. Nothing is decided here.
"""

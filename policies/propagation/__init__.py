"""Propagation of a change to every process: publish and subscribe, invalidation, the invalidating cache, metrics."""

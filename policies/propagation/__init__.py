"""How a change reaches every process: publish and subscribe, invalidation, caches."""

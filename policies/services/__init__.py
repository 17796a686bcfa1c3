"""Every write of this app, one module for each noun. A caller writes `people.create(...)`: module and verb."""

"""OpenID AuthZEN 1.0: questions and searches of policy enforcement points, answered by the same `authority`."""

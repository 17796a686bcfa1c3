"""OpenID AuthZEN 1.0: evaluations and searches for policy enforcement points, decided by `policies.pdp.authorizer`."""

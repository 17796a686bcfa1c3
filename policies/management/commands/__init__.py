"""Commands of the app `policies`."""

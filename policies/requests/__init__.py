"""Requests for access: what somebody asks for, the ways to give it, who decides, and what is written then."""

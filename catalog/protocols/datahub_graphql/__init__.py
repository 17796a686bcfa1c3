"""DataHub's GraphQL for access control: policies, roles, people, tokens and searches (clients.md section 2).

Each room binds resolvers to the types of `schema/*.graphql`; what they ask and write is asked and written by the
services and queries that every other door uses. Nothing is decided here.
"""

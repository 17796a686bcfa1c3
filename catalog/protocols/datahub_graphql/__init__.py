"""DataHub's GraphQL for access control: policies, roles, users, groups, tokens and searches (clients.md section 2).

Each module binds resolvers to the types of `schema/*.graphql`; they call the services and queries that every other
interface uses, which also decide about access.
"""

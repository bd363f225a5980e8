"""Control of a stack's nodes: local processes or containers."""

"""A plan carried out on a stack: before, while, and the judgement after."""

"""A night: everything that takes hours, part by part, and one page of what each part came to."""

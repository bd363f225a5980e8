"""The images of the composed stack, and what runs first in their containers."""

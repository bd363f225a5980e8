"""What is judged: an output against the definition, two outputs, a whole run."""

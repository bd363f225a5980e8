"""What a pipeline means, in words and pictures, for people who are about to run it."""

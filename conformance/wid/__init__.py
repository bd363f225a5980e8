"""Cases of the window language: format and judgement."""

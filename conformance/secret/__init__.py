"""Cases of the SECRET model: format and judgement."""

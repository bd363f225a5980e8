"""Cases of GSN's sliding manager: format and judgement."""

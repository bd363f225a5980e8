"""Scenarios of policy windows and of operators over them: format and judgement."""

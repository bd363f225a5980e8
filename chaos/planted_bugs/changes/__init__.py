"""Defects of how changes of the queries are judged by lanes, and taken by drivers."""

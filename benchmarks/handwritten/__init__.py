"""Aggregate, Join and Sort without the library: what it is compared with, in lines and in speed."""

"""Reports: self-contained HTML pages, JSON, and JUnit XML."""

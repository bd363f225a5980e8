"""Reports: pages that need no network, JSON, and JUnit XML."""

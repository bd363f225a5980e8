"""The page of pipelines in the Airflow UI: what it shows, who may see it, what its buttons do."""

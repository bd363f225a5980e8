"""How a pipeline stands, as one answer: `slackwater overview`, and the page in Airflow's UI."""

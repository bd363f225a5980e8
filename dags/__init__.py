"""Airflow's view of Slackwater: one DAG for each pipeline file.

Read it in the order of the names: `entities` (what a deployment needs, no Airflow), `render`
(entities to Airflow), `operators` (how a step runs), `pipelines` (the loader that Airflow finds),
`pipeline_problems` (the files that could not be used, as an import error).
"""

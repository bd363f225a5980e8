"""Airflow's view of Slackwater: a DAG for each pipeline file.

Read in this order: `entities` (what a deployment needs, no Airflow), `render`
(entities to Airflow), `operators` (how a step runs), `pipelines` (the loader that Airflow finds),
`pipeline_problems` (unusable files, as an import error).
"""

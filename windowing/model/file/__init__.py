"""The pipeline file: from YAML to a frozen pipeline, or to mistakes with line and rule."""

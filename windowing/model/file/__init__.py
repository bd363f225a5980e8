"""The pipeline file: parse YAML into a frozen pipeline, or into mistakes with line and rule."""

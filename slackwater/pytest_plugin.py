"""The pytest plugin of an installed package: the fixtures of `chaos.pytest_plugin`.

It is one plugin under one name, whether pytest finds it here or by `-p chaos.pytest_plugin`.
"""

pytest_plugins = ("chaos.pytest_plugin",)

"""What pytest finds of an installed package: the fixtures of `chaos.pytest_plugin`.

One plugin under one name, whether pytest finds it here or is told `-p chaos.pytest_plugin`.
"""

pytest_plugins = ("chaos.pytest_plugin",)

"""The platform on a Docker engine: the engine itself, containers of our images, a stack of them."""

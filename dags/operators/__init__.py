"""How the steps of a deployment run: each calls the main environment's `slackwater` command."""

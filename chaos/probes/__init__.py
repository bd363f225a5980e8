"""The table of probes of live engines: what each was found to be, kept beside the documents."""

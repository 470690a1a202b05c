"""Reading what a model wrote: one module per family of notations, a registry, and the streaming scanner."""

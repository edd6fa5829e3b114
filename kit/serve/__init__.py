"""One model behind HTTP: the worker that owns an engine, the frontend that forwards to it, and their processes."""

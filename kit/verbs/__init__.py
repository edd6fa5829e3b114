"""The command line's verbs, a module a subject; `kit.__main__` puts them together.

Modules import only `typer` and each other; what a verb needs it imports when it runs, so that help stays quick.
"""

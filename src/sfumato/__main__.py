"""`python -m sfumato`: the same program, where its folder is not on the path."""

from sfumato.cli.entry import run

if __name__ == "__main__":
    run()

"""The one exception that stands for a mistake of the user, not of the program."""


class UserError(Exception):
    """Bad input: a config, a ledger, a results file, an argument or an environment that cannot be used.

    The message is a single line that says what is wrong, where, and what is allowed. The command line
    prints it without a traceback and exits with status 2.
    """

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(message.split()))

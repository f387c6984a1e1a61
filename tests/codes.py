"""Looking at the codes of a collection's vectors, as `verify()` and `repair()` do."""

from langchain_ragstore.storage.sqlite import coding, steps


def check_codes(backend, collection):
    with backend.database.read() as connection:
        state = steps.state(connection, collection)
        return [] if state is None else coding.check(connection, state)


def rebuild_codes(backend, collection):
    with backend.database.write() as connection:
        state = steps.state(connection, collection)
        if state is not None and state.dimension:
            coding.rebuild(connection, state)
            steps.outdate_copies(connection, state)

"""What an `embedding` argument means: a model, the name of one, or none."""

from __future__ import annotations

import re
from typing import Final

from langchain_core.embeddings import Embeddings

from langchain_ragstore.errors import InvalidInputError, MissingExtraError

_PIP: Final = re.compile(r"pip install (?:-\S+ )*[`'\"]?([A-Za-z0-9][\w.-]*)")
"""How LangChain's own errors say what is missing."""


def to_model(given: Embeddings | str | None) -> Embeddings | None:
    """What an `embedding` argument means.

    Raises:
        InvalidInputError: It is no model and names none.
        MissingExtraError: A name needs the `langchain` package.
    """
    model = _named(given) if isinstance(given, str) else given
    if model is not None and not isinstance(model, Embeddings):
        raise InvalidInputError(
            f"embedding is a LangChain Embeddings, a 'provider:model' string or None, got "
            f"{type(given).__name__}: {given!r}"
        )
    return model


def _named(name: str) -> Embeddings:
    if ":" not in name:
        raise InvalidInputError(
            f"embedding={name!r} names no model: write 'provider:model', or an embedding "
            "such as HashingEmbeddings(); a file is given as path=..."
        )
    try:
        from langchain.embeddings import init_embeddings  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise MissingExtraError("langchain") from error
    try:
        model = init_embeddings(name)
    except ImportError as error:
        raise _missing(name, error) from error
    except Exception as error:
        raise InvalidInputError(
            f"embedding={name!r} could not be made: {type(error).__name__}: {error}; it is "
            "'provider:model', and most providers want a key in an environment variable; "
            "an Embeddings made by hand can be given instead"
        ) from error
    if not isinstance(model, Embeddings):
        raise InvalidInputError(f"{name!r} does not name an embedding model")
    return model


def _missing(name: str, error: ImportError) -> MissingExtraError:
    """The package that a provider needs, by its own words or by the name of the module."""
    told = _PIP.search(str(error))
    cause = error.__cause__
    module = error.name or (cause.name if isinstance(cause, ImportError) else None)
    package = told[1] if told else (module or "langchain").partition(".")[0]
    package = package.replace("_", "-").rstrip(".")
    return MissingExtraError(package, problem=f"embedding={name!r} needs {package}")

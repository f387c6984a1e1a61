"""A question and what a retriever finds for it, as the input of a language model."""

from __future__ import annotations

from collections.abc import Mapping
from operator import itemgetter
from typing import Any, Final

from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import BasePromptTemplate, ChatPromptTemplate
from langchain_core.runnables import Runnable, RunnableLambda, RunnablePassthrough

from langchain_ragstore.errors import InvalidInputError

_INSTRUCTION: Final = """\
Answer the question from the context below, in the language of the question. If the \
context does not hold the answer, say that you do not know.

{context}"""


def answering(
    retriever: Runnable[str, Any],
    llm: Runnable[Any, Any],
    prompt: BasePromptTemplate[Any] | str | None,
) -> Runnable[Any, dict[str, Any]]:
    """The chain of `RagPipeline.as_chain`.

    Args:
        retriever: Question to documents.
        llm: A chat model or a language model.
        prompt: With `{context}` and `{question}`; None for a short one.

    Raises:
        InvalidInputError: The prompt lacks one of them.
    """
    if isinstance(prompt, str):
        prompt = ChatPromptTemplate.from_template(prompt)
    if prompt is not None:
        _check(prompt)
    filled = RunnableLambda(_prompt_input) | (prompt or _default_prompt())
    documents = itemgetter("question") | retriever
    return (
        RunnableLambda(_chain_input)
        | RunnablePassthrough.assign(context=documents)
        | RunnablePassthrough.assign(answer=filled | llm | StrOutputParser())
    ).pick(["question", "context", "answer"])


def _check(prompt: BasePromptTemplate[Any]) -> None:
    """Refuse a prompt that would not show the model what was asked and found."""
    absent = [key for key in ("question", "context") if key not in prompt.input_variables]
    if absent:
        raise InvalidInputError(
            f"the prompt has no {{{absent[0]}}}; it needs {{question}} and {{context}}, "
            f"and has {sorted(prompt.input_variables)}"
        )


def _default_prompt() -> BasePromptTemplate[Any]:
    return ChatPromptTemplate.from_messages(
        [
            ("system", _INSTRUCTION),
            ("placeholder", "{chat_history}"),
            ("human", "{question}"),
        ]
    )


def _chain_input(given: Any) -> dict[str, Any]:
    if isinstance(given, str):
        return {"question": given, "chat_history": []}
    if isinstance(given, Mapping):
        question = given.get("question", given.get("input"))
        if isinstance(question, str):
            return {"question": question, "chat_history": given.get("chat_history") or []}
    raise InvalidInputError(
        "the chain takes a question as a string, or a dict with 'question' (or 'input') "
        f"and optionally 'chat_history'; got {given!r}"
    )


def _prompt_input(state: Mapping[str, Any]) -> dict[str, Any]:
    """What the prompt is filled with: the documents as numbered, attributed text."""
    blocks = []
    for number, document in enumerate(state["context"], start=1):
        source = document.metadata.get("source") or document.metadata.get("source_id")
        name = f" {source}" if source else ""
        blocks.append(f"[{number}]{name}\n{document.page_content}")
    return {**state, "context": "\n\n".join(blocks)}

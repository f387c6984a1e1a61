"""What the errors of embedding services say, in the services' own words."""

import email.utils
from http import HTTPStatus

import pytest

from fakes import ServiceError
from langchain_ragstore.embeddings.refusals import Answer, Refusal, read

# As people reported them in public issues; those marked * are written as the services are
# remembered to say it, and were not found in a report.
ITEMS = [
    # DashScope
    (400, 10, "<400> InternalError.Algo.InvalidParameter: Value error, batch size is invalid, it should not be larger than 10.: input.contents"),
    (400, 25, "batch size is invalid, it should not be larger than 25.: payload.input.contents"),
    # Text Embeddings Inference, SiliconFlow
    (413, 32, "batch size 77 > maximum allowed batch size 32"),
    (413, 64, "input batch size 136 > maximum allowed batch size 64"),
    # Cohere, and * behind Bedrock
    (400, 96, "invalid request: total number of texts must be at most 96 - received 131"),
    (400, 96, "Malformed input request: #/texts: expected maximum item count: 96, found: 100, please reformat your input and try again."),
    # Azure
    (400, 16, "Too many inputs. The max number of inputs is 16.  We hope to increase the number of inputs per request soon. Please contact us: fwlink/?linkid=2213926"),
    (400, 1, "Too many inputs for model None. The max number of inputs is 1.  We hope"),
    # OpenAI *
    (400, 2048, "Invalid 'input': array too long. Expected an array with maximum length 2048, but got an array with length 2049 instead."),
    # Jina
    (400, 2048, "input length is larger than the largest allowed size 2048"),
    (422, 512, "Validation error: 'body -> jina-embeddings-v4' Each input list can contain at most 512 items.. Field errors: : Invalid value"),
    # Google
    (400, 100, "* BatchEmbedContentsRequest.requests: at most 100 requests can be in one batch"),
    (400, 250, "250 instance(s) is allowed per prediction. Actual: 512"),
    # Voyage *, and * pydantic behind any service
    (400, 128, "The batch size limit is 128. Your batch size is 500."),
    (422, 512, "List should have at most 512 items after validation, not 600"),
    # some of LangChain's classes pass on the words alone
    (None, 32, "batch size 64 > maximum allowed batch size 32"),
]  # fmt: skip

TOKENS = [
    # OpenAI, Voyage, Mistral, Google
    (300_000, 416_735, "Requested 416735 tokens, max 300000 tokens per request"),
    (120_000, 121_138, "Request to model 'voyage-large-2-instruct' failed. The max allowed tokens per submitted batch is 120000. Your batch has 121138 tokens after truncation. Please lower the number of tokens in the batch."),
    (16_384, 17_555, "Too many tokens in batch. Max is 16384 got 17555"),
    (20_000, 109_362, "Unable to submit request because the input token count is 109362 but the model supports up to 20000. Reduce the input token count and try again."),
    (4_000, 25_270, "The input token count (25270) exceeds the maximum number of tokens allowed (4000)."),
]  # fmt: skip

UNNUMBERED = [
    (400, "Too many tokens overall, split into more batches."),
    (400, "Too many inputs in request, split into more batches."),
    (413, "Failed to buffer the request body: length limit exceeded"),
    (400, "Unable to submit request because it included too many instances"),
    (400, "Request payload size exceeds the limit: 20971520 bytes."),  # *
    (413, ""),
]

ONE_TEXT = [
    (400, "This model's maximum context length is 8192 tokens, however you requested 9001 tokens (9001 in your prompt; 0 for the completion). Please reduce your prompt; or completion length."),
    (400, "Malformed input request: #/texts/0: expected maxLength: 2048, actual: 19882, please reformat your input and try again."),
    (413, "`inputs` must have less than 512 tokens. Given: 600"),
    (500, "input (600 tokens) is too large to process. increase the physical batch size (current batch size: 512)"),
    (400, "input length exceeds the context length"),
    (400, "'$.input' is invalid. Please check the API reference"),
    (422, "Unprocessable Entity"),
]  # fmt: skip


@pytest.mark.parametrize(("status", "items", "words"), ITEMS)
def test_how_many_texts(status, items, words):
    refusal = Refusal(Answer.SMALLER, items=items, status=status)
    assert read(ServiceError(words, status), 0) == refusal


@pytest.mark.parametrize(("tokens", "found", "words"), TOKENS)
def test_how_many_tokens(tokens, found, words):
    refusal = Refusal(Answer.SMALLER, tokens=tokens, found=found, status=400)
    assert read(ServiceError(words, 400), 0) == refusal


@pytest.mark.parametrize(("status", "words"), UNNUMBERED)
def test_less_of_it(status, words):
    assert read(ServiceError(words, status), 0) == Refusal(Answer.SMALLER, status=status)


@pytest.mark.parametrize(("status", "words"), ONE_TEXT)
def test_one_text_is_at_fault(status, words):
    assert read(ServiceError(words, status), 0) == Refusal(Answer.BAD_TEXT, status=status)


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504, 529])
def test_later(status):
    words = "Rate limit reached on tokens per min (TPM): Limit 1000000, Requested 20000."
    assert read(ServiceError(words, status), 0) == Refusal(Answer.LATER, status=status)


@pytest.mark.parametrize("status", [401, 402, 403, 404])
def test_never(status):
    words = "no, and the maximum batch size is 10"
    assert read(ServiceError(words, status), 0) == Refusal(Answer.FINAL, status=status)


def test_an_account_without_money_is_not_busy():
    error = ServiceError("You exceeded your quota, code: insufficient_quota", 429)
    assert read(error, 0).answer is Answer.FINAL


def test_what_says_nothing():
    assert read(RuntimeError("boom"), 0) == Refusal(Answer.FINAL)


@pytest.mark.parametrize(
    "error",
    [
        ConnectionResetError("reset"),
        TimeoutError(),
        type("APIConnectionError", (Exception,), {})("Connection error."),
        type("ReadTimeout", (type("TransportError", (Exception,), {}),), {})("late"),
    ],
)
def test_nobody_answers(error):
    assert read(error, 0) == Refusal(Answer.UNREACHABLE)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "7"}, 7),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        ({"Retry-After": email.utils.formatdate(1_060, usegmt=True)}, 60),
        ({"Retry-After": email.utils.formatdate(900, usegmt=True)}, 0),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "nan"}, None),
        ({"Retry-After": "inf"}, None),
        ({"Retry-After": "-3"}, 0),
        ({}, None),
    ],
)
def test_when(headers, seconds):
    assert read(ServiceError("", 429, headers), now=1_000).wait == seconds


def test_when_by_an_attribute():
    error = ServiceError("", 429)
    error.retry_after = 3
    assert read(error, 0).wait == 3


def test_a_status_is_looked_for_where_clients_keep_it():
    for name, value in [("code", HTTPStatus.TOO_MANY_REQUESTS), ("http_status", 429), ("status", 429)]:  # fmt: skip
        error = Exception("busy")
        setattr(error, name, value)
        assert read(error, 0).status == 429, name
    error = Exception("busy")
    error.response = {"ResponseMetadata": {"HTTPStatusCode": 429}}  # botocore's
    assert read(error, 0).status == 429
    error.response = {"Error": "none"}
    error.code = "InvalidParameter"
    assert read(error, 0).status is None


def test_causes_are_read():
    """LangChain's class for Gemini, for example, raises its own error from the client's."""
    error = ValueError("Error embedding content")
    error.__cause__ = ServiceError("at most 100 requests can be in one batch", 400)
    assert read(error, 0) == Refusal(Answer.SMALLER, items=100, status=400)


def test_the_body_of_the_answer_is_read():
    """`raise_for_status` of httpx says the status alone."""
    error = ServiceError("Client error '400 Bad Request'", 400)
    error.response.text = '{"message":"Too many tokens in batch. Max is 16384 got 17555"}'
    assert read(error, 0).tokens == 16_384


def test_a_body_that_was_not_read_hides_nothing():
    class Streamed:
        status_code = 413

        @property
        def text(self):
            raise RuntimeError("Attempted to access streaming response content")

    error = Exception("batch size 64 > maximum allowed batch size 32")
    error.response = Streamed()
    assert read(error, 0) == Refusal(Answer.SMALLER, items=32, status=413)

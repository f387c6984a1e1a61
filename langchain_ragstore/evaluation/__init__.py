"""How good a retriever is, by judged queries, and whether it is better than another."""

from langchain_ragstore.evaluation.comparison import Comparison, compare
from langchain_ragstore.evaluation.results import Evaluation, QueryResult
from langchain_ragstore.evaluation.run import aevaluate, evaluate

__all__ = ["Comparison", "Evaluation", "QueryResult", "aevaluate", "compare", "evaluate"]

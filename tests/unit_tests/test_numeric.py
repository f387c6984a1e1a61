"""Numbers that people give."""

import math
from fractions import Fraction

import numpy as np
import pytest

from langchain_ragstore import InvalidInputError, RetrievalConfig
from langchain_ragstore.numeric import number, whole


def test_numbers():
    assert (
        number("x", 2) == number("x", np.float32(2)) == number("x", Fraction(4, 2)) == 2.0
    )
    assert type(number("x", 2)) is float
    assert (number("x", -1, -1, 1), number("x", 1, -1, 1)) == (-1.0, 1.0)
    assert number("x", math.inf, 0, finite=False) == math.inf
    assert number("x", 10**400, finite=False) == math.inf


@pytest.mark.parametrize("value", [math.nan, math.inf, 10**400, "2", None, True, -0.1, 1.1])
def test_what_is_no_number(value):
    message = r"x must be a number, finite, at least 0, at most 1; got "
    with pytest.raises(InvalidInputError, match=message):
        number("x", value, 0, 1)


def test_what_no_float_holds():
    with pytest.raises(InvalidInputError, match="core_factor must be a number, finite"):
        RetrievalConfig(core_factor=10**400)


def test_whole_numbers():
    assert (whole("n", 3, 3), whole("n", np.int64(7), 0)) == (3, 7)


@pytest.mark.parametrize("value", [2, 3.0, "3", None, True])
def test_what_is_no_whole_number(value):
    with pytest.raises(InvalidInputError, match="n must be an integer, at least 3; got"):
        whole("n", value, 3)

"""Every example in a docstring runs and prints what it says."""

import doctest
import importlib

import pytest

from tests.modules import all_modules


@pytest.mark.parametrize("name", all_modules())
def test_examples_of_the_docstrings_run(name):
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert result.failed == 0

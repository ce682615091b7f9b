"""Every example in a docstring runs and prints what it says."""

import doctest
import importlib
import pkgutil

import pytest

import visualwords

MODULES = sorted(m.name for m in pkgutil.walk_packages(visualwords.__path__, "visualwords."))


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_the_docstrings_run(name):
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert result.failed == 0

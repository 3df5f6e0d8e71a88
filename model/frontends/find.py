"""Find: the front end that a model is for, without loading a library that the model does not need."""

from __future__ import annotations

from typing import Any

from .imported import Imported

__all__ = ["import_model"]


def import_model(given: Any) -> Imported | None:
    """The model ``given`` as formulas; None when it is no model that a front end knows: an estimator of scikit-learn. A
    model that cannot become formulas is refused with an :exc:`~skinny.model.errors.InputError`."""
    # Classes are told apart by where they come from, so that no library is loaded for that.
    homes = {base.__module__.partition(".")[0] for base in type(given).__mro__}
    if "sklearn" in homes:
        from .sklearn.estimators import import_estimator

        return import_estimator(given)
    return None

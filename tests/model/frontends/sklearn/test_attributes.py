"""What is read of estimators."""

import numpy as np
import pytest
from skinny.model.errors import InputError
from skinny.model.frontends.sklearn.attributes import class_name, expect_fitted, floats, known_class, without_noise
from sklearn.linear_model import LinearRegression, Ridge


class Mine(Ridge):
    pass


def test_the_nearest_known_class_counts():
    assert known_class(Mine(), {"Ridge": 1, "LinearRegression": 2}) == "Ridge"
    assert known_class(LinearRegression(), {"Ridge": 1}) is None
    assert known_class(type("Ridge", (), {})(), {"Ridge": 1}) is None, "not of scikit-learn"
    assert class_name(Mine()) == "Mine"


def test_what_is_not_fitted_or_not_finite_is_refused():
    with pytest.raises(InputError, match=r"^Mine: it is not fitted; call fit\(X, y\) before compiling it$"):
        expect_fitted(Mine(), "coef_")
    model = Mine().fit([[1.0], [2]], [1.0, 2])
    assert floats(model, "coef_").shape == (1,)
    model.coef_ = np.array([np.nan])
    with pytest.raises(InputError, match=r"^Mine: coef_ holds what is no finite number; fit it on data without"):
        floats(model, "coef_")


def test_columns_of_rounding_noise_become_zero():
    matrix = np.array([[1e-17, 3, 1e-5], [-2e-17, 1e-20, 0]])
    assert without_noise(matrix).tolist() == [[0, 3, 1e-5], [0, 1e-20, 0]]

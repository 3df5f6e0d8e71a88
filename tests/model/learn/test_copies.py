"""Copies of images are moved images, copies of rows stay within their class."""

import numpy as np
from skinny.model.learn.copies import image_copies, table_copies


def test_copies_of_an_image_keep_its_mass_and_place():
    image = np.zeros((1, 8, 8))
    image[0, 3:5, 3:5] = 1
    found = image_copies(image.reshape(1, -1), (8, 8), 50, np.random.default_rng(0)).reshape(50, 8, 8)
    assert ((found >= 0) & (found <= 1 + 1e-9)).all()
    mass = found.sum(axis=(1, 2))
    assert (np.abs(mass - 4) < 0.8).all()
    rows = (found.sum(axis=2) * np.arange(8)).sum(axis=1) / mass
    assert (np.abs(rows - 3.5) < 0.6).all()
    assert rows.std() > 0.1


def test_a_flat_image_stays_flat_inside():
    found = image_copies(np.ones((2, 30)), (5, 6), 4, np.random.default_rng(1))
    assert found.shape == (4, 2, 30)
    np.testing.assert_allclose(found, 1, atol=1e-12)


def test_rows_move_along_differences_within_their_class():
    """The two classes lie on two lines, so that every difference within a class lies on its line."""
    rng = np.random.default_rng(2)
    along = rng.normal(0, 1, 40)
    classes = np.arange(40) % 2
    rows = np.where(classes[:, None] == 0, np.stack([along, 0 * along], 1), np.stack([0 * along, along], 1))
    found = table_copies(rows, classes, 6, rng)
    assert found.shape == (6, 40, 2)
    assert (found[:, classes == 0, 1] == 0).all()
    assert (found[:, classes == 1, 0] == 0).all()
    assert (found != rows).any(axis=2).mean() > 0.9


def test_a_class_of_one_row_is_copied_as_it_is():
    rows = np.array([[1.0, 2.0], [3.0, 4.0], [3.5, 4.0]])
    found = table_copies(rows, np.array([0, 1, 1]), 3, np.random.default_rng(0))
    assert (found[:, 0] == rows[0]).all()

"""The front end of scikit-learn. It reads fitted attributes and does not load the library."""

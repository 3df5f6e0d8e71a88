"""The networks of this folder that Keras exports, trained from scratch. Not run by tests: it needs tensorflow and
tf2onnx.

    pip install tensorflow-cpu tf2onnx scikit-learn && python make_keras.py

``autoencoder.onnx`` squeezes digits of 8x8 pixels through 64-16-8-16-64 neurons; ``waves.onnx`` tells sines, square
waves and saw teeth in 128 noisy samples by convolutions.
"""

from pathlib import Path

import keras
import numpy as np
import onnx
import tensorflow as tf
import tf2onnx
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

FOLDER = Path(__file__).parent


def exported(net, shape, name):
    """Write ``net``, for any number of rows of ``shape``, to a file."""
    signature = [tf.TensorSpec((None, *shape), tf.float32, name="x")]
    model, _ = tf2onnx.convert.from_function(tf.function(net), input_signature=signature, opset=17)
    del model.metadata_props[:]
    onnx.save(model, FOLDER / name)


def waves(count, seed):
    """Sines, square waves and saw teeth of any frequency and phase, with noise: samples, and which of the three."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 3, count)
    turns = rng.uniform(3, 6, (count, 1)) * np.arange(128) / 128 + rng.uniform(0, 1, (count, 1))
    each = np.stack([np.sin(2 * np.pi * turns), np.sign(np.sin(2 * np.pi * turns)), 2 * (turns % 1) - 1])
    samples = each[kind, np.arange(count)] + 0.1 * rng.normal(size=(count, 128))
    return (samples / 2).astype(np.float32)[:, :, None], kind


def main():
    keras.utils.set_random_seed(0)
    images, digits = load_digits(return_X_y=True)
    images, _ = train_test_split((images / 16).astype(np.float32), stratify=digits, random_state=0)
    layers = [keras.layers.Dense(n, activation="relu") for n in (16, 8, 16)]
    net = keras.Sequential([keras.Input((64,)), *layers, keras.layers.Dense(64)])
    net.compile(keras.optimizers.Adam(0.003), "mse")
    net.fit(images, images, batch_size=64, epochs=60, verbose=0)
    exported(net, (64,), "autoencoder.onnx")

    samples, kinds = waves(3000, 0)
    net = keras.Sequential(
        [
            keras.Input((128, 1)),
            keras.layers.Conv1D(4, 9, strides=2, use_bias=False),
            keras.layers.BatchNormalization(),
            keras.layers.ReLU(),
            keras.layers.MaxPooling1D(2),
            keras.layers.Conv1D(8, 5, strides=2, activation="relu"),
            keras.layers.GlobalAveragePooling1D(),
            keras.layers.Dropout(0.1),
            keras.layers.Dense(3, activation="softmax"),
        ]
    )
    net.compile(keras.optimizers.Adam(0.01), "sparse_categorical_crossentropy", metrics=["accuracy"])
    print(net.fit(samples, kinds, batch_size=64, epochs=30, verbose=0).history["accuracy"][-1])
    exported(net, (128, 1), "waves.onnx")


if __name__ == "__main__":
    main()

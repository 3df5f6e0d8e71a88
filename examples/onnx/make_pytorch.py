"""The networks of this folder that PyTorch exports, trained from scratch. Not run by tests: it needs torch and
onnxscript.

    pip install torch onnxscript scikit-learn && python make_pytorch.py

``digits_cnn.onnx`` tells digits of 8x8 pixels, ``digits_cnn_again.onnx`` is the same network trained once more from
other first weights, both by the exporter of today; ``jets.onnx`` has the shape 16-64-32-32-5 that taggers of jets have
in physics, on features made up for the purpose, by the older exporter.
"""

from pathlib import Path

import numpy as np
import onnx
import torch
from sklearn.datasets import load_digits, make_classification
from sklearn.model_selection import train_test_split
from torch import nn

FOLDER = Path(__file__).parent


def trained(net, inputs, labels, epochs):
    """``net`` after training it with Adam on all of ``inputs`` at once."""
    optimiser = torch.optim.Adam(net.parameters(), 0.01, weight_decay=1e-4)
    x, y = torch.tensor(inputs, dtype=torch.float32), torch.tensor(labels)
    for _ in range(epochs):
        optimiser.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        optimiser.step()
    return net.eval()


def exported(net, shape, name, **options):
    """Write ``net`` with all its weights to one file."""
    path = str(FOLDER / name)
    torch.onnx.export(net, (torch.zeros(shape),), path, **options)
    model = onnx.load(path)
    for node in model.graph.node:  # where the exporter ran is nobody's business
        del node.metadata_props[:]
    del model.metadata_props[:]
    for part in (*model.graph.value_info, *model.graph.input, *model.graph.output, *model.graph.initializer):
        del part.metadata_props[:]
    del model.graph.metadata_props[:]
    onnx.save(model, path)
    Path(path + ".data").unlink(missing_ok=True)


def main():
    images, digits = load_digits(return_X_y=True)
    images, _, digits, _ = train_test_split(images / 16, digits, stratify=digits, random_state=0)
    for name, seed in (("digits_cnn.onnx", 0), ("digits_cnn_again.onnx", 1)):
        torch.manual_seed(seed)
        cnn = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(36, 10))
        cnn = nn.Sequential(trained(cnn, images.reshape(-1, 1, 8, 8), digits, 400), nn.Softmax(dim=1)).eval()
        exported(cnn, (1, 1, 8, 8), name, input_names=["pixel"], output_names=["digit"], dynamo=True)

    torch.manual_seed(0)
    features, kinds = make_classification(4000, 16, n_informative=10, n_classes=5, class_sep=1.5, random_state=0)
    layers = [
        nn.Linear(16, 64),
        nn.ReLU(),
        nn.Linear(64, 32),
        nn.ReLU(),
        nn.Linear(32, 32),
        nn.ReLU(),
        nn.Linear(32, 5),
    ]
    jets = trained(nn.Sequential(*layers), (features / 8).astype(np.float32), kinds, 200)
    names = {"input_names": ["feature"], "output_names": ["kind"], "dynamic_axes": {"feature": {0: "batch"}}}
    exported(jets, (1, 16), "jets.onnx", dynamo=False, **names)


if __name__ == "__main__":
    main()

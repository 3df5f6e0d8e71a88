"""ONNX: networks that were exported by PyTorch, Keras and others."""

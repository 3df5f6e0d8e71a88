"""A real serial port as a :class:`skinny.model.link.requests.Channel`."""

from __future__ import annotations

import contextlib
import os

import serial
from skinny.model.errors import InputError
from skinny.model.link.requests import LinkError

__all__ = ["SerialPort"]


class SerialPort:
    """The port ``name`` at ``baud``, for nobody else while it is open. Closed at the end of a ``with`` statement."""

    def __init__(self, name: str, baud: int) -> None:
        try:
            # Opening drops the bytes of another conversation that may be left.
            self._port = serial.Serial(name, baud, exclusive=True)
        except (OSError, ValueError) as error:
            code = getattr(error, "errno", None)
            said = os.strerror(code) if code else "it is no serial port of this speed"
            raise InputError(f"the port {name} cannot be opened ({said})") from None
        # Adapters hold back few bytes for up to 16 ms unless told otherwise; not all can be.
        with contextlib.suppress(OSError, ValueError, NotImplementedError, AttributeError):
            self._port.set_low_latency_mode(True)

    def __enter__(self) -> SerialPort:
        return self

    def __exit__(self, *_: object) -> None:
        self._port.close()

    def write(self, data: bytes) -> None:
        """Queue bytes for the line."""
        try:
            self._port.write(data)
        except OSError as error:
            raise LinkError(f"the port {self._port.name} is gone ({error})") from None

    def read(self, seconds: float) -> bytes:
        """All bytes that have come, at least one if any comes in time."""
        try:
            self._port.timeout = seconds
            first: bytes = self._port.read(1)
            return first + self._port.read(self._port.in_waiting) if first else first
        except OSError as error:
            raise LinkError(f"the port {self._port.name} is gone ({error})") from None

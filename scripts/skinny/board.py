"""Boards from Python: a program is put into a core at a serial port, runs there, and gets other weights."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any

from skinny.model.errors import CheckError, InputError
from skinny.model.link.host import Host
from skinny.model.link.wire import BAUD
from skinny.model.machine.assemble import Image
from skinny.model.parallel.image import ImageOptions, build_image
from skinny.model.program.program import Program as ModelProgram
from skinny.model.program.units import Units
from skinny.model.rings import Array

from .extras import needs_extra
from .program import Program, Results
from .values import as_elements, as_whole, several, shown

if TYPE_CHECKING:
    from skinny.model.link.requests import Channel

    from .imported import ImportedProgram

__all__ = ["Board"]


class Board:
    """The board at the serial port ``port``, or at another line that carries bytes, such as a simulated one. Used in a
    ``with`` statement, the port is closed at its end.

    The board says which ring and sizes its core has; a program that does not fit is an :exc:`InputError`, and a board
    that does not answer, or meets faults, a :exc:`CheckError`.
    """

    @needs_extra("host")
    def __init__(self, port: str | Channel, baud: int = BAUD) -> None:
        if isinstance(port, str):
            from skinny.sim.link.port import SerialPort

            port = SerialPort(port, as_whole(baud, "baud"))
        elif not (hasattr(port, "read") and hasattr(port, "write")):
            raise InputError(f"a board is at a serial port like '/dev/ttyUSB1', not at {shown(port)}")
        self._channel = port
        self._host = Host(port)

    def __enter__(self) -> Board:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        if hasattr(self._channel, "__exit__"):
            self._channel.__exit__(kind, value, at)

    def load(self, program: Program) -> str:
        """Put ``program`` into the core and say what was sent: ``program``, ``weights`` where the core has the program
        already and its weights can be set, as those of trained models, or ``nothing``."""
        image = self._image(self._model(program))
        before = self._host.loads, self._host.retunes
        self._host.load(image)
        loads, retunes = self._host.loads - before[0], self._host.retunes - before[1]
        return "program" if loads else "weights" if retunes else "nothing"

    def run(self, program: Program, inputs: Any = None) -> Results:
        """What :meth:`Program.run` gives, computed on the board, which gets the program first if it holds another."""
        units, found, single = self._run(program, inputs)
        columns = units.decode_columns(found)
        if len(columns) == 1:
            (column,) = columns.values()
            return column[0] if single else column
        return {name: column[0] for name, column in columns.items()} if single else columns

    def predict(self, program: ImportedProgram, rows: Any) -> Any:
        """What :meth:`ImportedProgram.predict` gives, computed on the board."""
        from .imported import ImportedProgram  # the compiler, which boards do without

        if not isinstance(program, ImportedProgram):
            raise InputError(f"predict takes the program of a trained model, not {shown(program)}")
        units, found, _ = self._run(program, rows)
        return program.decoded(units.decode_columns(found))

    def _run(self, program: Program, inputs: Any) -> tuple[Units, Array, bool]:
        model = self._model(program)
        model.expect_no_stream("skinny.Board.run needs")
        image = self._image(model)
        units = Units(model, image.config.ring)
        given, single = as_elements(program._given(inputs), units)
        found, faulty = self._host.run_elements(image, given.elements)
        if faulty.any():
            met = several(int(faulty.sum()), "inference")
            raise CheckError(f"{met} met a fault, the first is row {int(faulty.argmax())}")
        return units, found, single

    def _image(self, program: ModelProgram) -> Image:
        """The image of ``program`` for the core of the board."""
        config = self._host.status().info.config
        (image,) = build_image(program, config.ring, ImageOptions.of_core(config)).lanes
        assert isinstance(image, Image)
        return image

    def _model(self, program: Program) -> ModelProgram:
        if not isinstance(program, Program):
            raise InputError(f"a board takes a program that skinny.compile or skinny.load gives, not {shown(program)}")
        return program.model

"""The sliding window: its size and the layout of its descriptors."""

from dataclasses import dataclass

__all__ = ["WindowShape"]

CELL = 8  # pixels of a side of a HOG cell; windows begin at multiples of half a cell
BLOCK_ROWS, BLOCK_COLUMNS = 12, 9  # pixels of a census block  [Wu10, Sec. 4.2]
MARGIN = 16  # pixels around a window that its descriptors depend on, at most
ACF_CELL, ACF_CHANNELS = 4, 10  # pixels of a side; numbers of a cell of channel features
COSINE_CHANNELS = 4 * ACF_CHANNELS  # numbers of a cell of local cosines
MARGIN_X, MARGIN_Y = 28, 20  # by which 64 × 128 exceed the census window of 36 × 108


@dataclass(frozen=True)
class WindowShape:
    """A window of pixels with HOG blocks all over it and census super-blocks in its middle.

    The window of 64 × 128 pixels has 7 × 15 HOG blocks [Dalal and Triggs 2005] and, in its middle,
    the 36 × 108 pixels of 3 × 8 census super-blocks [Wu10, Sec. 4.2]. Other windows have as many as
    fit, with the same margins.

    Parameters
    ----------
    width, height : int
        Multiples of 8, at least 48 × 48.

    Examples
    --------
    >>> shape = WindowShape(64, 128)
    >>> shape.hog_columns, shape.census_columns, shape.census_corner
    (3780, 6144, (14, 10))
    """

    width: int = 64
    height: int = 128

    def __post_init__(self) -> None:
        for side in (self.width, self.height):
            if not isinstance(side, int) or side % CELL or side < 48:
                raise ValueError(
                    f"a window of {self.width}x{self.height} pixels; both sides must be multiples "
                    f"of {CELL} and at least 48"
                )

    @property
    def blocks(self) -> tuple[int, int]:
        """Rows and columns of HOG blocks."""
        return self.height // CELL - 1, self.width // CELL - 1

    @property
    def super_blocks(self) -> tuple[int, int]:
        """Rows and columns of census super-blocks."""
        rows = (self.height - MARGIN_Y) // BLOCK_ROWS
        return rows - 1, (self.width - MARGIN_X) // BLOCK_COLUMNS - 1

    @property
    def census_corner(self) -> tuple[int, int]:
        """Where the census window begins: x, y."""
        rows, columns = self.super_blocks
        x = (self.width - (columns + 1) * BLOCK_COLUMNS) // 2
        return x, (self.height - (rows + 1) * BLOCK_ROWS) // 2

    @property
    def hog_columns(self) -> int:
        """Length of the HOG vector."""
        return self.blocks[0] * self.blocks[1] * 36

    @property
    def census_columns(self) -> int:
        """Length of the census vector."""
        return self.super_blocks[0] * self.super_blocks[1] * 256

    @property
    def acf_cells(self) -> tuple[int, int]:
        """Rows and columns of cells of aggregated channel features."""
        return self.height // ACF_CELL, self.width // ACF_CELL

    @property
    def acf_columns(self) -> int:
        """Length of the vector of aggregated channel features."""
        return self.acf_cells[0] * self.acf_cells[1] * ACF_CHANNELS

    @property
    def cosine_columns(self) -> int:
        """Length of the vector of local cosines."""
        return self.acf_cells[0] * self.acf_cells[1] * COSINE_CHANNELS

    def positions(self, height: int, width: int, stride: int) -> tuple[int, int]:
        """Rows and columns of windows that fit into an image."""
        rows = (height - self.height) // stride + 1
        columns = (width - self.width) // stride + 1
        return max(rows, 0), max(columns, 0)

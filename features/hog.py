"""Histograms of oriented gradients, counted (skimage's definition) or interpolated (OpenCV's)."""

import math
from dataclasses import KW_ONLY, dataclass

import numpy as np
from scipy.sparse import csr_matrix

from visualwords.errors import ImageError
from visualwords.estimator import check_choices
from visualwords.features.extractor import ColumnPlaces, Extractor
from visualwords.features.hog_blocks import (
    count_cells,
    interpolated_blocks,
    normalize_blocks,
    split_planes,
)
from visualwords.features.local_features import LocalFeatures, grid_positions
from visualwords.features.pixels import as_grey, as_rgb, check_image, resize_image


@dataclass(eq=False, repr=False)
class HOG(Extractor):
    """Histograms of oriented gradients: cells, overlapping blocks, L2-Hys [1]_.

    Gradients are central differences, in colour images those of the channel where they are
    strongest, and count with their length for one of ``n_orientations`` angles of 0° to 180° in
    their cell. Every ``block_size`` × ``block_size`` cells form a block, which is brought to
    length 1, cut at 0.2 and brought to length 1 again. The vector has all blocks, row after row.

    Parameters
    ----------
    cell_size : int, default 8
        Width and height of a cell in pixels.
    block_size : int, default 2
        Width and height of a block in cells. Blocks start at every cell.
    n_orientations : int, default 9
    interpolated : bool, default False, keyword only
        False: a pixel counts for its own cell and angle, exactly as in
        ``skimage.feature.hog(block_norm="L2-Hys")``. True: it is shared between the two nearest
        angles and up to four cells of a block, weighted by a Gaussian around the block's centre,
        as in OpenCV's ``HOGDescriptor`` (σ = a quarter of the block).
    color : {"rgb", "grey"}, default "rgb"
        Whether colour images are used as they are or converted to grey first.
    resize_wh : (int, int) or None
        Bring images to this width and height first. Needed to ``transform`` images of different
        sizes.

    Notes
    -----
    ``blocks(image)`` has the blocks of the whole image: a window of r × c cells at cell (i, j) is
    ``blocks[i : i + r - block_size + 1, j : j + c - block_size + 1]``, and all windows share the
    work. Gradients at a window's border then see the
    pixels beyond, unlike those of a cropped image.

    Numbers of the interpolated form are OpenCV's, in the order of the counted form: blocks and
    cells row by row, where OpenCV has them column by column.

    Deviations from the paper: none known in the interpolated form; the counted form has neither
    interpolation nor Gaussian.

    References
    ----------
    .. [1] N. Dalal, B. Triggs: Histograms of oriented gradients for human detection, 2005.

    Examples
    --------
    >>> import numpy as np
    >>> image = np.zeros((128, 64), np.uint8)
    >>> image[:, 32:] = 255
    >>> HOG().describe(image).shape
    (3780,)
    >>> HOG().blocks(image)[0, 3, 0].argmax(axis=1)  # an upright edge: the gradient's angle is 0
    array([0, 0])
    """

    cell_size: int = 8
    block_size: int = 2
    n_orientations: int = 9
    _: KW_ONLY
    interpolated: bool = False
    color: str = "rgb"
    resize_wh: tuple[int, int] | None = None

    version = 1
    is_normalized = True

    @property
    def color_mode(self) -> str:
        return self.color

    def check_parameters(self) -> None:
        """Raise ``ValueError`` where a parameter can't be used."""
        for name, largest in (("cell_size", None), ("block_size", None), ("n_orientations", 255)):
            value = getattr(self, name)
            if not (isinstance(value, int | np.integer) and 1 <= value <= (largest or value)):
                raise ValueError(f"{name}={value!r} must be an integer of at least 1")
        check_choices(self, color=("rgb", "grey"))
        if self.resize_wh is not None:
            if np.shape(self.resize_wh) != (2,) or min(self.resize_wh) < 1:
                raise ValueError(f"resize_wh={self.resize_wh!r}; expected (width, height)")
            self._check_size(*self.resize_wh)

    def describe(self, image: np.ndarray) -> np.ndarray:
        """All blocks of an image in one vector.

        Parameters
        ----------
        image : (h, w, 3) RGB or (h, w) grey, uint8; at least one block large

        Returns
        -------
        (block rows × block columns × block_size² × n_orientations,) float32
        """
        self.check_parameters()
        if self.resize_wh is None:
            self._check_size(*check_image(image).shape[1::-1])
        return self.blocks(image).ravel()

    def blocks(self, image: np.ndarray) -> np.ndarray:
        """The normalised blocks of the image, float32 in [0, 1].

        Returns
        -------
        (block rows, block columns, block_size, block_size, n_orientations)
            Without rows or columns where the image is smaller than a block.
        """
        self.check_parameters()
        planes = self._planes(image)
        size, n = self.block_size, self.n_orientations
        if self.interpolated:
            blocks = interpolated_blocks(planes, self.cell_size, size, n)
        else:
            blocks = self._counted_blocks(planes)
        ny, nx = blocks.shape[:2]
        return blocks.reshape(ny, nx, size, size, n)

    def extract(self, image: np.ndarray) -> LocalFeatures:
        """The blocks as local features; none where the image is smaller than a block."""
        blocks = self.blocks(image)
        ny, nx = blocks.shape[:2]
        side = self.cell_size * self.block_size
        width, height = self.resize_wh or np.shape(image)[1::-1]
        x, y = (np.arange(n) * self.cell_size + side / 2 for n in (nx, ny))
        positions = grid_positions(x / width, y / height)
        columns = self.block_size**2 * self.n_orientations
        return LocalFeatures(
            blocks.reshape(nx * ny, columns), positions, np.full(nx * ny, side, np.float32)
        )

    def column_places(self, image: np.ndarray) -> ColumnPlaces:
        """The block that each column belongs to; see `Extractor`."""
        blocks, n = self.extract(image), self.n_orientations
        size_wh = np.array(self.resize_wh or np.shape(image)[1::-1], np.float32)
        n_blocks, each = blocks.descriptors.shape
        columns = np.arange(n_blocks * each)
        ones = np.ones(len(columns)), (columns // each, columns)
        return ColumnPlaces(
            positions=blocks.positions,
            sizes=blocks.sizes[:, None] / size_wh,
            shares=csr_matrix(ones, shape=(n_blocks, len(columns))),
            names=[f"angle {180 / n * k:.4g}" for k in range(n)],
            name_of=columns % n,
            method="each column of HOG belongs to its block",
        )

    def get_feature_names_out(self, input_features: object = None) -> np.ndarray:
        """Name the columns like ``block0.2_cell1.0_angle40``; needs ``resize_wh``."""
        self.check_parameters()
        if self.resize_wh is None:
            raise ValueError("the columns of HOG depend on the image's size; set resize_wh")
        nx, ny = (self._count_blocks(length) for length in self.resize_wh)
        size, n = self.block_size, self.n_orientations
        inner = [f"cell{a}.{b}_angle{180 * k / n:.4g}" for a, b, k in np.ndindex(size, size, n)]
        names = [f"block{i}.{j}_{name}" for i, j in np.ndindex(ny, nx) for name in inner]
        return np.array(names, dtype=object)

    def _check_size(self, width: int, height: int) -> None:
        least = self.cell_size * self.block_size
        if min(width, height) < least:
            raise ImageError(
                f"image is {width}x{height}, but HOG with {self.cell_size}x{self.cell_size} cells "
                f"and {self.block_size}x{self.block_size} blocks needs at least {least}x{least}; "
                "resize it or use a smaller cell_size"
            )

    def _count_blocks(self, length: int) -> int:
        return max(0, length // self.cell_size - self.block_size + 1)

    def _resize(self, image: np.ndarray) -> np.ndarray:
        return image if self.resize_wh is None else resize_image(image, *self.resize_wh)

    def _planes(self, image: np.ndarray) -> np.ndarray:
        """Intensities as (channels, h, w) uint8."""
        if self.color == "grey" or np.ndim(image) == 2:
            return self._resize(as_grey(image))[None]
        return split_planes(self._resize(as_rgb(image)))

    def _counted_blocks(self, planes: np.ndarray) -> np.ndarray:
        n, size = self.n_orientations, self.block_size
        rows, columns = (length // self.cell_size for length in planes.shape[1:])
        cells = np.zeros((rows, columns, n), np.float32)
        # rounded so that 0, 1/2 and equal values of both are exact: gradients may lie on a border
        angles = np.arange(n) * (math.pi / n)
        cosines, sines = np.cos(angles).round(15), np.sin(angles).round(15)
        f = np.float32
        count_cells(planes, self.cell_size, cosines.astype(f), sines.astype(f), cells)
        ny, nx = (self._count_blocks(length) for length in planes.shape[1:])
        blocks = np.empty((ny, nx, size * size * n), np.float32)
        lengthen = np.array([1e-10, 0, 0], np.float32)  # as in skimage
        normalize_blocks(cells, size, 1, f(self.cell_size**-2), lengthen, blocks)
        return blocks

"""Images as files in memory, for browsers."""

from visualwords.images import encode_image, read_image

PREVIEW_SIDE = 1280


def preview(data: bytes, max_pixels: int) -> bytes:
    """Return an image of any format as an upright JPEG of moderate size."""
    image = read_image(data, "rgb", max_pixels, max_side=PREVIEW_SIDE)
    return encode_image(image, "jpeg", quality=85)

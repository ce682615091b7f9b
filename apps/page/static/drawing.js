// Everything drawn over the image: the evidence map, the patches of a word, the boxes.

const SIDE = 768; // pixels of the overlay's longer side
const FOR = [230, 97, 1];
const AGAINST = [44, 111, 187];

// The evidence at which the colour is full: nearly the largest of all classes shown, so that
// classes can be compared and one extreme place does not hide the others.
export function scaleOf(maps) {
  const sizes = maps.flat(2).map(Math.abs).sort((a, b) => a - b);
  return sizes[Math.floor(0.995 * (sizes.length - 1))] || 1;
}

export function drawEvidence(canvas, map, scale) {
  const [height, width] = [map.length, map[0].length];
  const small = new OffscreenCanvas(width, height);
  const context = small.getContext("2d");
  const pixels = context.createImageData(width, height);
  map.flat().forEach((value, i) => {
    const share = Math.min(1, Math.abs(value) / scale);
    pixels.data.set(value >= 0 ? FOR : AGAINST, 4 * i);
    pixels.data[4 * i + 3] = 255 * share ** 0.7; // weak evidence stays visible
  });
  context.putImageData(pixels, 0, 0);
  const zoom = SIDE / Math.max(width, height);
  const target = resized(canvas, width * zoom, height * zoom);
  target.imageSmoothingQuality = "high";
  target.drawImage(small, 0, 0, canvas.width, canvas.height);
}

export function clear(canvas) {
  resized(canvas, 1, 1);
}

// Patches are left, top, width, height as shares of the image.
export function markPatches(canvas, image, patches) {
  const context = overImage(canvas, image);
  for (const [x, y, width, height] of patches) {
    frame(context, x * canvas.width, y * canvas.height, width * canvas.width, height * canvas.height);
  }
}

// Boxes are left, top, right, bottom in pixels of an image of the given width.
export function markBoxes(canvas, image, boxes, imageWidth) {
  const context = overImage(canvas, image);
  const zoom = canvas.width / imageWidth;
  for (const { box: [x0, y0, x1, y1] } of boxes) {
    frame(context, x0 * zoom, y0 * zoom, (x1 - x0) * zoom, (y1 - y0) * zoom);
  }
}

// A word's strongest patch, with half of its size around it.
export function drawPatch(canvas, image, [x, y, width, height]) {
  const [w, h] = [image.naturalWidth, image.naturalHeight];
  const side = Math.max(4, 2 * Math.max(width * w, height * h));
  const [left, top] = [(x + width / 2) * w - side / 2, (y + height / 2) * h - side / 2];
  const context = resized(canvas, 144, 144);
  context.drawImage(image, left, top, side, side, 0, 0, 144, 144);
  const zoom = 144 / side;
  frame(context, (x * w - left) * zoom, (y * h - top) * zoom, width * w * zoom, height * h * zoom);
}

function overImage(canvas, image) {
  const zoom = (SIDE * 1.5) / Math.max(image.naturalWidth, image.naturalHeight, 1);
  return resized(canvas, image.naturalWidth * zoom, image.naturalHeight * zoom);
}

function resized(canvas, width, height) {
  canvas.width = Math.max(1, Math.round(width)); // also clears it
  canvas.height = Math.max(1, Math.round(height));
  return canvas.getContext("2d");
}

function frame(context, x, y, width, height) {
  context.lineJoin = "round";
  for (const [color, thickness] of [["rgb(0 0 0 / .6)", 6], ["#ffd23f", 3]]) {
    context.strokeStyle = color;
    context.lineWidth = thickness;
    context.strokeRect(x, y, width, height);
  }
}

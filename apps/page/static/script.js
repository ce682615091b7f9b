// The page: keeps the images, sends them to the server, and shows one of them at a time.

import * as ask from "/asking.js";
import { clear, drawEvidence, markBoxes, scaleOf } from "/drawing.js";
import { onImages } from "/intake.js";
import {
  certaintyOf, countOf, element, showBoxes, showClasses, showModel, showSimilar, showWords, signed,
} from "/panels.js";
import { saveTable } from "/table.js";

const AT_ONCE = 2; // the server has two workers
const MOST_IMAGES = 500;
const $ = (id) => document.getElementById(id);
const [photo, overlay, marks] = [$("photo"), $("overlay"), $("marks")];

let about = null;
let shown = null; // the image on the stage
let photoShown = null; // resolves when its pixels are there
let running = 0;
const images = [];
const waiting = [];
let previews = Promise.resolve(); // of tiles

start();

async function start() {
  onImages(add);
  $("clear").addEventListener("click", clearAll);
  $("save").addEventListener("click", () => saveTable(images, boxesFrom));
  $("opacity").addEventListener("input", setOpacity);
  $("threshold").addEventListener("input", () => {
    showFound(shown);
    for (const image of images) if (image.answer) nameTile(image);
  });
  $("about-open").addEventListener("click", () => $("about").showModal());
  setOpacity();
  const own = ["localhost", "127.0.0.1", "[::1]"].includes(location.hostname);
  $("privacy").textContent = own
    ? "They stay on this machine." : `They are sent to ${location.hostname} and nowhere else.`;
  try {
    about = await ask.model();
    showModel(about);
  } catch (problem) {
    $("knows").textContent = problem.message;
  }
}

function add(files) {
  for (const file of files.slice(0, MOST_IMAGES - images.length)) {
    const image = {
      file, url: URL.createObjectURL(file), answer: null, evidence: new Map(), similar: [],
      label: null, trouble: "", method: "", preview: null, stop: new AbortController(),
    };
    image.tile = tileOf(image);
    images.push(image);
    waiting.push(image);
    $("strip").append(element("li", {}, image.tile));
  }
  const dropped = files.length - waiting.length;
  if (images.length === MOST_IMAGES && dropped > 0) announce(`The page keeps at most ${MOST_IMAGES} images.`);
  layOut();
  if (waiting.length) show(waiting[0]);
  work();
}

function work() {
  while (running < AT_ONCE && waiting.length) {
    running++;
    predict(waiting.shift()).finally(() => {
      running--;
      work();
    });
  }
}

async function predict(image) {
  if (image === shown) announce(`Processing ${image.file.name}…`);
  try {
    if (about && image.file.size > about.limits.max_bytes) {
      const most = Math.floor(about.limits.max_bytes / 2 ** 20);
      throw new Error(`The file is larger than ${most} MB; choose a smaller one.`);
    }
    image.answer = await ask.predict(image.file, image.stop.signal);
    image.label = image.answer.classes?.[0].label ?? null;
  } catch (problem) {
    if (problem.name === "AbortError") return;
    image.trouble = problem.message;
  }
  nameTile(image);
  showProgress();
  if (image === shown) await show(image);
}

async function show(image) {
  const isNew = shown !== image;
  shown = image;
  for (const other of images) other.tile.setAttribute("aria-current", String(other === image));
  if (isNew) {
    clear(marks);
    clear(overlay);
    $("frame").classList.remove("explained");
    image.tile.scrollIntoView({ block: "nearest", inline: "nearest" });
    photoShown = showPhoto(image);
  }
  await photoShown; // patches are cut from it
  if (image !== shown) return;
  showAnswer(image);
  if (image.answer?.boxes) showFound(image);
  else if (image.answer && about?.explains) await explain(image);
}

async function showPhoto(image) {
  $("caption").textContent = image.file.name;
  photo.alt = `Your image ${image.file.name}`;
  photo.src = image.url;
  try {
    await photo.decode();
  } catch {
    if (image !== shown || image.trouble) return fitFrame();
    try {
      await preview(image);
      if (image === shown) {
        photo.src = image.url;
        await photo.decode();
      }
    } catch { /* the answer has the error */ }
  }
  fitFrame();
}

// The browser can't decode the file, the server may: its preview takes the place of the file.
function preview(image) {
  image.preview ??= ask.preview(image.file, image.stop.signal).then((blob) => {
    URL.revokeObjectURL(image.url);
    image.url = URL.createObjectURL(blob);
    image.tile.querySelector("img").src = image.url;
  });
  return image.preview;
}

// One after the other: hundreds may be dropped at once.
function previewLater(image) {
  previews = previews.then(() => image.trouble || preview(image)).catch(() => {});
}

function fitFrame() {
  const ratio = photo.naturalWidth ? photo.naturalWidth / photo.naturalHeight : 4 / 3;
  $("frame").style.setProperty("--ratio", Math.min(4, Math.max(0.25, ratio)));
}

function showAnswer(image) {
  const { answer, trouble } = image;
  $("workspace").classList.toggle("no-photo", Boolean(trouble) && !photo.naturalWidth);
  $("trouble").textContent = trouble;
  $("trouble").hidden = !trouble;
  $("certainty").textContent = "";
  for (const id of ["classes", "words", "similar", "boxes", "overlay-controls", "box-controls"]) {
    $(id).hidden = true;
  }
  $("method").textContent = "";
  if (trouble) $("answer").textContent = image.file.name;
  else if (!answer) $("answer").textContent = "Processing…";
  else if (answer.classes) {
    const best = answer.classes[0];
    $("answer").textContent = nameOf(answer);
    const likely = best.probability === null ? certaintyOf(best) : `${certaintyOf(best)} likely`;
    $("certainty").textContent = answer.unknown
      ? `Unlike the training images; of these classes most like ${best.label}. In ${milliseconds(answer)}`
      : `${likely}, in ${milliseconds(answer)}`;
    showClasses(answer.classes, image.label, chooseClass);
    announce(`${image.file.name}: ${nameOf(answer)}, ${answer.unknown ? `most like ${best.label}` : certaintyOf(best)}`);
  }
}

function nameOf(answer) {
  return answer.unknown ? "None of these" : answer.label;
}

async function explain(image) {
  const { label } = image;
  if (!image.evidence.has(label)) {
    try {
      const first = image.evidence.size === 0;
      const found = await ask.explain(image.file, first ? null : label, image.stop.signal);
      for (const one of found.classes) image.evidence.set(one.label, one);
      if (first) image.scale = scaleOf(found.classes.map((one) => one.map));
      Object.assign(image, { similar: found.similar, method: found.method });
    } catch (problem) {
      if (problem.name === "AbortError" || image !== shown) return;
      $("method").textContent = problem.message;
      return;
    }
  }
  if (image === shown && label === image.label) showEvidence(image, image.evidence.get(label));
}

function showEvidence(image, evidence) {
  drawEvidence(overlay, evidence.map, image.scale);
  $("frame").classList.add("explained");
  overlay.setAttribute("aria-label", `Evidence for and against ${evidence.label}`);
  $("legend-label").textContent = evidence.label;
  $("overlay-controls").hidden = false;
  showWords(evidence.words, photo, marks);
  showSimilar(image.similar);
  $("method").textContent = `${sumOf(evidence)} ${image.method}`;
}

function sumOf({ score, map, offset }) {
  const inside = map.flat().reduce((sum, value) => sum + value, 0);
  return `Score ${signed(score)} = evidence ${signed(inside)}, offset ${signed(offset)}.`;
}

function chooseClass(label) {
  shown.label = label;
  clear(marks);
  announce(`Evidence for ${label}`);
  explain(shown);
}

function showFound(image) {
  const { boxes, width } = image.answer;
  const kept = boxesFrom(boxes);
  const { label } = about.classes[0];
  const count = countOf(kept.length, label);
  $("answer").textContent = count[0].toUpperCase() + count.slice(1);
  $("certainty").textContent = `in ${milliseconds(image.answer)}`;
  $("threshold-shown").textContent = `${$("threshold").value} %`;
  $("box-controls").hidden = false;
  markBoxes(marks, photo, kept, width);
  showBoxes(kept, label);
  announce(`${image.file.name}: ${count}`);
}

function boxesFrom(boxes) {
  return boxes.filter(({ confidence }) => confidence >= $("threshold").value / 100);
}

function tileOf(image) {
  const picture = element("img", {
    src: image.url, alt: "",
    onerror: () => {
      tile.classList.add("no-picture");
      if (!image.preview) previewLater(image);
    },
    onload: () => tile.classList.remove("no-picture"),
  });
  const text = element("span", { textContent: "…" });
  const tile = element("button", { type: "button", className: "tile", title: image.file.name },
    picture, text);
  tile.addEventListener("click", () => show(image));
  return tile;
}

function nameTile(image) {
  const text = image.tile.querySelector("span");
  text.textContent = image.trouble
    ? "can't be used" : image.answer.classes ? nameOf(image.answer) : `${boxesFrom(image.answer.boxes).length} found`;
  text.classList.toggle("bad", Boolean(image.trouble));
}

function clearAll() {
  for (const image of images) {
    image.stop.abort();
    URL.revokeObjectURL(image.url);
  }
  images.length = waiting.length = 0;
  shown = null;
  $("strip").replaceChildren();
  layOut();
  announce("All images removed");
  $("files").focus();
}

function layOut() {
  document.body.classList.toggle("busy-with-images", images.length > 0);
  $("all").hidden = images.length < 2;
  showProgress();
  $("workspace").hidden = $("clear").hidden = images.length === 0;
}

function showProgress() {
  const done = images.filter((image) => image.answer || image.trouble).length;
  $("progress").textContent = done < images.length
    ? `${done} of ${images.length} images done` : `${images.length} images`;
}

function setOpacity() {
  overlay.style.opacity = $("opacity").value / 100;
  $("frame").style.setProperty("--covered", Math.min(1, $("opacity").value / 50));
  $("opacity-shown").textContent = `${$("opacity").value} %`;
}

function milliseconds({ seconds }) {
  return seconds < 1 ? `${Math.max(1, Math.round(1000 * seconds))} ms` : `${seconds.toFixed(1)} s`;
}

function announce(sentence) {
  $("status").textContent = sentence;
}

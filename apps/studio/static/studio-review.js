// Look and correct: the images that the model doubts, one at a time, and a key for every answer.

import { element, percent } from "/panels.js";
import { attempt, framed, showEvidence } from "/studio-dialogs.js";
import { get, onChange, state } from "/studio-state.js";

const $ = (id) => document.getElementById(id);
let [questions, pairs] = [[], []];
let kind = "questions";
let at = 0;
let key = ""; // of what the queue was asked for
let shown = ""; // of what is on the screen
let keys = {}; // key → answer

export function startReview() {
  $("kind-questions").addEventListener("click", () => choose("questions"));
  $("kind-pairs").addEventListener("click", () => choose("pairs"));
  $("evidence").addEventListener("change", () => draw(true));
  addEventListener("keydown", onKey);
  onChange(refresh);
}

function choose(other) {
  [kind, at] = [other, 0];
  draw(true);
}

async function refresh() {
  const { status } = state;
  if (!status) return;
  const now = `${state.version} ${status.preferred} ${status.models.length} ${status.accepted} ${status.undo}`;
  if (now === key) return draw();
  key = now;
  try {
    ({ questions, pairs } = await get("/studio/queue"));
  } catch { return; }
  at = Math.max(0, Math.min(at, list().length - 1));
  draw();
}

function list() {
  return kind === "questions" ? questions : pairs;
}

function draw(anew = false) {
  const n = questions.length + pairs.filter((pair) => pair.apart).length;
  $("n-review").textContent = n;
  $("n-review").hidden = !n;
  for (const [id, found] of [["questions", questions], ["pairs", pairs]]) {
    const button = $(`kind-${id}`);
    button.setAttribute("aria-pressed", String(kind === id));
    button.querySelector("b").textContent = found.length;
  }
  const one = list()[at];
  $("review-card").hidden = !one;
  $("review-done").hidden = Boolean(one);
  if (!one) {
    showDone();
    shown = "";
    return;
  }
  const now = JSON.stringify([kind, one, at, list().length, state.classes.map(({ name }) => name)]);
  if (now === shown && !anew) return;
  shown = now;
  keys = {};
  $("question-number").textContent = `${at + 1} of ${list().length}`;
  if (kind === "questions") showQuestion(one);
  else showPair(one);
}

function showDone() {
  const model = state.status?.models.at(-1);
  $("done-words").textContent = model ? "Nothing left to look at" : "No model yet";
  $("done-more").textContent = !model
    ? "Add two images or more of two classes; what the model doubts appears here."
    : kind === "questions" ? "The model agrees with every label, or you have accepted them." : "No two images look alike.";
}

function showQuestion({ id, label, guess, confidence, wrong, suspicious, novelty, twin }) {
  const name = state.byId.get(id)?.name ?? "";
  const frame = framed(id, `${name}, labelled ${label}`);
  const figures = [figure(frame, `labelled ${label}`)];
  if (twin) figures.push(figure(framed(twin, `most similar image of ${guess}`), `most similar of ${state.byId.get(twin)?.label}`));
  $("pictures").replaceChildren(...figures);
  $("question-words").replaceChildren(...(wrong
    ? ["Labelled ", element("b", { textContent: label }), ". The model predicts ", element("b", { textContent: guess }), "."]
    : ["Is this ", element("b", { textContent: label }), "?"]));
  const strange = novelty > 0.95 ? " It is unlike most other images." : "";
  const why = suspicious ? "The label looks wrong" : wrong ? "A mistake of the model, or of the label" : "The model is unsure";
  $("question-more").textContent = `${why}; ${percent(confidence)} for ${guess}, by a model that was not shown this image.${strange}`;
  const others = state.classes.map(({ name: one }) => one);
  const answers = [answer("Enter", `Keep ${label}`, () => accept(id), !wrong)];
  others.forEach((other, i) => {
    if (other === label) return;
    answers.push(answer(i < 9 ? String(i + 1) : "", `Move to ${other}`, () => move(id, other), wrong && other === guess));
  });
  answers.push(answer("Delete", "Delete", () => remove([id])));
  $("answers").replaceChildren(...answers);
  $("evidence-line").hidden = !state.status.answering.length;
  $("evidence-label").textContent = guess;
  if ($("evidence").checked) showEvidence(frame, id, guess).catch(() => {});
}

function showPair({ ids: [left, right], apart }) {
  const both = [left, right].map((id) => state.byId.get(id));
  if (!both.every(Boolean)) return;
  $("pictures").replaceChildren(...both.map(({ id, label, name }) => figure(framed(id, `${name}, labelled ${label}`), label, name)));
  $("question-words").textContent = apart ? "The same picture in two classes?" : "Two pictures of the same thing?";
  $("question-more").textContent = apart
    ? "A model can't learn what distinguishes them. Decide for one class."
    : "Copies make a test look better than it is; folds keep them together.";
  const answers = [
    answer("Enter", "Keep both", () => accept(left, right), !apart),
    answer("1", "Delete the left one", () => remove([left])),
    answer("2", "Delete the right one", () => remove([right])),
  ];
  if (apart) {
    answers.push(answer("3", `Both are ${both[0].label}`, () => move(right, both[0].label)));
    answers.push(answer("4", `Both are ${both[1].label}`, () => move(left, both[1].label)));
  }
  $("answers").replaceChildren(...answers);
  $("evidence-line").hidden = true;
}

function figure(frame, words, more = "") {
  return element("figure", {}, frame, element("figcaption", {}, element("b", { textContent: words }),
    element("span", { className: "soft small", textContent: more && ` ${more}` })));
}

function answer(name, words, act, isLikely = false) {
  if (name) keys[name] = act;
  const button = element("button", { type: "button", className: isLikely ? "answer likely" : "answer", onclick: act },
    element("kbd", { textContent: name === "Delete" ? "Del" : name, hidden: !name }), element("span", { textContent: words }));
  button.setAttribute("aria-keyshortcuts", name);
  return button;
}

// The next question is there at once; the server follows.
function next() {
  list().splice(at, 1);
  at = Math.max(0, Math.min(at, list().length - 1));
  draw();
}

function accept(...ids) {
  next();
  attempt("/studio/accept", { images: ids }, ids.length > 1 ? "Both kept" : "Label accepted");
}

function move(id, label) {
  next();
  attempt("/studio/move", { images: [id], class: label }, `Moved to ${label}`);
}

function remove(ids) {
  next();
  attempt("/studio/delete", { images: ids }, "Image deleted");
}

function onKey(event) {
  const isFree = location.hash === "#review" && !document.querySelector("dialog[open]")
    && !event.ctrlKey && !event.metaKey && !event.altKey && !event.target.matches("select, input:not([type=checkbox])");
  if (!isFree) return;
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (step) {
    at = Math.max(0, Math.min(at + step, list().length - 1));
    draw();
  } else if (event.key === "Enter" && event.target.matches("button, a")) return; // the button's own
  else if (keys[event.key] && !$("review-card").hidden) keys[event.key]();
  else return;
  event.preventDefault();
}

// The model: how good it is, how far the better one is, what changed, and how to take it away.

import { element, percent } from "/panels.js";
import { attempt } from "/studio-dialogs.js";
import { counted, get, onChange, options, state, thumbnail } from "/studio-state.js";

const $ = (id) => document.getElementById(id);
let compared = "";
let reported = "";
let picked = false; // whether a person chose the models to compare

export function startModels() {
  for (const id of ["train", "train-here"]) {
    $(id).addEventListener("click", () => attempt("/studio/train", {}));
  }
  $("cancel").addEventListener("click", () => attempt("/studio/cancel", {}));
  $("unknown").addEventListener("change", () => attempt("/studio/settings", { unknown: $("unknown").checked }));
  for (const id of ["first", "second"]) {
    $(id).addEventListener("change", () => { picked = true; compare(); });
  }
  onChange(draw);
}

function draw() {
  const { status } = state;
  if (!status) return;
  showLearner(status);
  showFigures(status);
  showTraining(status);
  showChoices(status);
  showAway(status);
}

function preferred({ models, preferred: number }) {
  return models.find((model) => model.number === number);
}

function nameOf({ kind }) {
  return kind === "quick" ? "Quick model" : "Better model";
}

function showLearner(status) {
  const { quick, better } = status.training;
  const model = preferred(status);
  const canTrain = state.classes.filter((one) => one.images).length > 1;
  let words = "Add images of two classes: the first model comes by itself.";
  if (quick.failed) words = `The quick model failed: ${quick.failed}`;
  else if (model?.tested) words = `${nameOf(model)}: ${percentOf(model)} right, ${model.right} of ${model.tested}`;
  else if (status.answering.length) words = "Quick model ready; two images of each class are needed to test it.";
  else if (quick.on) words = "The first model is being trained…";
  if (quick.on && model) words += " · learning your changes…";
  if (better.on) words = `${stepOf(better)} · ${words}`;
  $("learner-words").textContent = words;
  $("learner").classList.toggle("on", quick.on || better.on);
  $("meter").hidden = !better.on;
  $("meter").firstElementChild.style.setProperty("--share", `${100 * shareDone(better)}%`);
  for (const id of ["train", "train-here"]) $(id).disabled = !canTrain || better.on;
  $("train").hidden = better.on;
  $("cancel").hidden = !better.on;
}

// What a person waits for. Until the model is there nobody knows how long its search takes; then it
// can be used, and folds that are done say how long the others take.
function stepOf({ phase, seconds, fold, left }) {
  if (phase === "preparing") return "Getting ready";
  if (phase === "training") return `Comparing recipes for ${duration(seconds)} so far`;
  if (phase === "report") return "The new model is ready · writing its report";
  return `The new model is ready · testing it: ${fold}${left === null ? "" : `, about ${duration(left)} left`}`;
}

function shareDone({ phase, fold }) {
  const [number, n] = (fold.match(/\d+/g) ?? [1, 1]).map(Number);
  return { preparing: 0.02, training: 0.1, report: 1 }[phase] ?? 0.2 + 0.8 * (number - 1) / n;
}

function duration(seconds) {
  return seconds < 100 ? `${Math.round(seconds)} s` : `${Math.round(seconds / 60)} min`;
}

function percentOf({ right, tested }) {
  return `${(100 * right / tested).toFixed(right === tested ? 0 : 1)} %`;
}

function showFigures(status) {
  const model = preferred(status);
  $("figure-empty").hidden = Boolean(model?.tested);
  $("figure").hidden = !model?.tested;
  if (!model?.tested) return;
  const [low, high] = model.interval.map((share) => `${(100 * share).toFixed(0)} %`);
  $("figure-share").textContent = percentOf(model);
  $("figure-words").textContent = `${nameOf(model)}: ${model.right} of ${model.tested} images right, each tested on a model that was not shown it (95 % interval ${low} to ${high}).${model.knows_unknown ? ` ${model.unknown} of them would be “none of these”.` : ""}`;
  $("recipe").textContent = `Recipe: ${model.recipe}`;
  $("figure-classes").replaceChildren(...state.classes.filter((one) => one.tested).map(({ name, right, tested }) => {
    const bar = element("i");
    bar.style.setProperty("--share", `${100 * right / tested}%`);
    return element("li", {}, element("span", { textContent: name }),
      element("span", { className: "soft small", textContent: `${right} of ${tested}` }),
      element("span", { className: "meter", ariaHidden: "true" }, bar));
  }));
}

function showTraining({ training: { better }, unknown }) {
  $("unknown").checked = unknown;
  $("train-failed").hidden = !better.failed;
  $("train-failed").textContent = better.failed;
  if ($("notes").childElementCount !== better.notes.length) {
    $("notes").replaceChildren(...better.notes.map((note) => element("li", { textContent: note })));
    $("log").hidden = !better.notes.length;
  }
}

function showChoices({ models }) {
  const tested = models.filter((model) => model.tested);
  $("changed").hidden = tested.length < 2;
  $("changed-empty").hidden = tested.length > 1;
  if (tested.length < 2) return;
  const named = tested.map((model) => [String(model.number), `${model.kind} ${model.number}: ${percentOf(model)} of ${model.tested}`]);
  const known = new Set(named.map(([number]) => number));
  picked &&= known.has($("first").value) && known.has($("second").value);
  const [first, second] = picked ? [$("first").value, $("second").value] : [named.at(-2)[0], named.at(-1)[0]];
  options($("first"), named, first);
  options($("second"), named, second);
  compare();
}

async function compare() {
  const now = `${state.version} ${$("first").value} ${$("second").value}`;
  if (now === compared) return;
  compared = now;
  try {
    const found = await get(`/studio/changed?first=${$("first").value}&second=${$("second").value}`);
    const way = found.second_right - found.first_right;
    const verdict = way > 0 ? `${counted(way, "image")} more right` : way < 0 ? `${counted(-way, "image")} fewer right` : "As many right as before";
    $("changed-words").replaceChildren(element("b", { textContent: `${verdict}: ` }),
      `${found.first_right} before, ${found.second_right} now, of ${counted(found.images, "image")} that both were tested on. ${found.better} became right, ${found.worse} wrong.`);
    $("changed-more").textContent = `By the labels of now. McNemar's exact test: p = ${found.p.toPrecision(2)}${found.p < 0.05 ? ", more than chance." : ", which chance may explain."}`;
    $("changed-images").replaceChildren(...found.changed.slice(0, 60).map(({ id, truth, first, second, verdict: what }) =>
      element("li", { className: what.replace(" ", "-") }, element("img", { src: thumbnail(id), alt: "", loading: "lazy" }),
        element("span", { className: "small" }, element("b", { textContent: what }),
          ` ${truth}: ${first} → ${second}`))));
  } catch (problem) {
    $("changed-words").textContent = problem.message;
    $("changed-images").replaceChildren();
  }
}

function showAway(status) {
  const isReady = status.answering.length > 0;
  $("to-page").hidden = !isReady;
  $("away").hidden = !isReady;
  $("away-empty").hidden = isReady;
  $("download-report").hidden = !status.report;
  const texts = { train: "Train it again", predict: "Use it", serve: "Serve its page" };
  if ($("commands").dataset.shown !== JSON.stringify(status.commands)) {
    $("commands").dataset.shown = JSON.stringify(status.commands);
    $("commands").replaceChildren(...Object.entries(texts).flatMap(([name, words]) => [
      element("dt", { textContent: words }),
      element("dd", {}, element("code", { textContent: status.commands[name] }), copier(status.commands[name], words)),
    ]));
  }
  $("report-card").hidden = !status.report;
  const newest = status.models.findLast((model) => model.kind === "better");
  const now = status.report ? String(newest?.number) : "";
  if (now !== reported) {
    reported = now;
    if (now) $("report").src = `/report?${now}`;
  }
}

function copier(text, what) {
  const button = element("button", { type: "button", className: "link small", textContent: "Copy", ariaLabel: `Copy the command: ${what}` });
  button.onclick = async () => {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  };
  return button;
}

// The page that learns: its views, the list of classes, and what can be done with images.

import { element } from "/panels.js";
import { askName, attempt, redo, toast, undo, view } from "/studio-dialogs.js";
import { Grid } from "/studio-grid.js";
import { startIntake } from "/studio-intake.js";
import { startModels } from "/studio-models.js";
import { startReview } from "/studio-review.js";
import { act, counted, look, onChange, options, state } from "/studio-state.js";

const VIEWS = ["classes", "review", "model"];
const ALL = null; // chosen: no single class
const $ = (id) => document.getElementById(id);
let chosen = ALL;
let drawn = "";
const grid = new Grid($("grid"), showSelection, view);

function start() {
  startIntake(() => chosen ?? (state.classes.length === 1 ? state.classes[0].name : null));
  startReview();
  startModels();
  onChange(draw);
  addEventListener("hashchange", showView);
  showView();
  $("undo").addEventListener("click", undo);
  $("redo").addEventListener("click", redo);
  $("toast-undo").addEventListener("click", undo);
  $("new-class").addEventListener("submit", addClass);
  $("rename").addEventListener("click", rename);
  $("delete-class").addEventListener("click", deleteClass);
  $("look").addEventListener("click", () => view(state.byId.get([...grid.selected][0])));
  $("move-to").addEventListener("change", moveSelected);
  $("delete-images").addEventListener("click", deleteSelected);
  $("clear-selection").addEventListener("click", () => grid.clear());
  addEventListener("keydown", onKey);
  look();
}

function showView() {
  const name = VIEWS.includes(location.hash.slice(1)) ? location.hash.slice(1) : "classes";
  for (const one of VIEWS) {
    $(`view-${one}`).hidden = one !== name;
    if (one === name) $(`to-${one}`).setAttribute("aria-current", "page");
    else $(`to-${one}`).removeAttribute("aria-current");
  }
  grid.draw();
}

function draw() {
  const { status, isOnline } = state;
  $("offline").hidden = isOnline;
  const words = isOnline ? "" : "The studio's server does not answer. Start it again: nothing is lost, and what waits here is sent then.";
  if ($("offline").textContent !== words) $("offline").textContent = words;
  if (!status) return;
  $("folder").textContent = status.folder.split(/[/\\]/).at(-1);
  $("folder").title = status.folder;
  for (const name of ["undo", "redo"]) {
    $(name).disabled = !status[name];
    $(name).title = status[name] ? `${name === "undo" ? "Undo" : "Redo"}: ${status[name]}` : "";
  }
  const now = `${state.version} ${status.preferred} ${status.models.length} ${chosen}`;
  if (now === drawn) return;
  drawn = now;
  if (chosen !== ALL && !state.classes.some(({ name }) => name === chosen)) chosen = ALL;
  showClasses();
  showImages();
  showSelection();
}

function showClasses() {
  const focused = document.activeElement?.closest?.("#class-rows button")?.dataset.class;
  const everything = { name: "All images", images: state.images.length, isAll: true };
  const rows = state.classes.length > 1 ? [everything, ...state.classes] : state.classes;
  $("class-rows").replaceChildren(...rows.map(classRow));
  if (focused !== undefined) {
    [...$("class-rows").querySelectorAll("button")].find((b) => b.dataset.class === focused)?.focus();
  }
}

function classRow({ name, images, right, tested, isAll }) {
  const button = element("button", {
    type: "button", className: "class-row", onclick: () => choose(isAll ? ALL : name),
  }, element("span", { className: "label", textContent: name }), element("span", { className: "number", textContent: images.toLocaleString() }));
  button.setAttribute("aria-current", String(isAll ? chosen === ALL : chosen === name));
  if (!isAll) button.dataset.class = name;
  if (tested) {
    const bar = element("i");
    bar.style.setProperty("--share", `${100 * right / tested}%`);
    button.title = `${right} of ${tested} right`;
    button.append(element("span", { className: "meter", ariaHidden: "true" }, bar),
      element("span", { className: "unseen", textContent: `, ${right} of ${tested} right` }));
  }
  return element("li", {}, button);
}

function choose(name) {
  chosen = name;
  grid.selected.clear();
  $("grid").scrollTop = 0;
  draw();
}

function showImages() {
  const images = chosen === ALL ? state.images : state.images.filter(({ label }) => label === chosen);
  $("chosen-name").textContent = chosen ?? (state.classes.length ? "All images" : "Welcome");
  $("chosen-count").textContent = state.classes.length ? counted(images.length, "image") : "";
  for (const id of ["rename", "delete-class"]) $(id).hidden = chosen === ALL;
  $("grid").hidden = !images.length;
  $("invitation").hidden = images.length > 0;
  $("invite-words").textContent = state.classes.length ? "Drop images here" : "Drop folders of images here";
  $("invite-more").textContent = state.classes.length
    ? `They become examples of ${chosen ?? "a class that you name"}. Or use the camera: hold its button and turn the thing around.`
    : "Each folder becomes a class. Or type the name of a first class, then drop, choose or photograph examples of it. Everything stays on this machine.";
  $("grid").ariaLabel = `${counted(images.length, "image")} of ${chosen ?? "all classes"}`;
  grid.show(images);
}

function showSelection() {
  const n = grid.selected.size;
  $("selection").hidden = !n;
  $("selected-count").textContent = `${n.toLocaleString()} selected`;
  $("look").hidden = n !== 1;
  const targets = state.classes.filter(({ name }) => name !== chosen).map(({ name }) => [name, name]);
  options($("move-to"), [["", "Move to…"], ...targets], "");
}

async function addClass(event) {
  event.preventDefault();
  const answer = await attempt("/studio/class", { name: $("new-name").value });
  if (!answer) return;
  $("new-name").value = "";
  choose(answer.class);
}

function rename() {
  const before = chosen;
  askName(`Rename ${before}`, before, "Rename", async (name) => {
    const answer = await act("/studio/class/rename", { class: before, name });
    chosen = answer.class;
    draw();
    toast(`Renamed to ${answer.class}`);
  });
}

async function deleteClass() {
  const name = chosen;
  chosen = ALL;
  await attempt("/studio/class/delete", { class: name }, `Deleted ${name} with its images`);
}

async function moveSelected() {
  const label = $("move-to").value;
  const images = [...grid.selected];
  if (!label || !images.length) return;
  grid.clear();
  await attempt("/studio/move", { images, class: label }, `Moved ${counted(images.length, "image")} to ${label}`);
}

async function deleteSelected() {
  const images = [...grid.selected];
  grid.clear();
  await attempt("/studio/delete", { images }, `Deleted ${counted(images.length, "image")}`);
}

function onKey(event) {
  if (event.target.matches("input:not([type=checkbox]), select") || document.querySelector("dialog[open]")) return;
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "z") {
    event.preventDefault();
    if (event.shiftKey) redo();
    else undo();
  } else if (event.key === "Delete" && grid.selected.size && !$("view-classes").hidden) {
    event.preventDefault();
    deleteSelected();
  }
}

start();

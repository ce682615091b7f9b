// Questions to people, short news with an undo, and one image with its evidence.

import { drawEvidence, scaleOf } from "/drawing.js";
import { element, percent } from "/panels.js";
import { act, get, state } from "/studio-state.js";

const $ = (id) => document.getElementById(id);
let hiding = null;

export function toast(words, canUndo = true) {
  clearTimeout(hiding);
  $("toast-words").textContent = words;
  $("toast-undo").hidden = !canUndo;
  $("toast").hidden = false;
  $("status").textContent = words;
  hiding = setTimeout(() => { $("toast").hidden = true; }, 6000);
}

// Do something on the server; what goes wrong is said, not thrown.
export async function attempt(address, asked, words) {
  try {
    const answer = await act(address, asked);
    if (words) toast(words);
    return answer;
  } catch (problem) {
    toast(problem.message, false);
    return null;
  }
}

export async function undo() {
  const answer = await attempt("/studio/undo", {});
  if (answer) toast(answer.what ? `Undone: ${answer.what}` : "There is nothing to undo", false);
}

export async function redo() {
  const answer = await attempt("/studio/redo", {});
  if (answer) toast(answer.what ? `Done again: ${answer.what}` : "There is nothing to redo", false);
}

export function askName(title, value, button, ok) {
  const dialog = $("ask");
  $("ask-title").textContent = title;
  $("ask-label").textContent = "Name of the class";
  $("ask-ok").textContent = button;
  $("ask-value").value = value;
  $("ask-trouble").hidden = true;
  dialog.returnValue = "";
  dialog.showModal();
  $("ask-value").select();
  $("ask-form").onsubmit = async (event) => {
    if (event.submitter?.value !== "ok") return;
    event.preventDefault();
    try {
      await ok($("ask-value").value);
      dialog.close();
    } catch (problem) {
      $("ask-trouble").textContent = problem.message;
      $("ask-trouble").hidden = false;
    }
  };
}

// A picture with a canvas over it for evidence.
export function framed(id, words) {
  const picture = element("img", { src: `/studio/picture/${id}`, alt: words, className: "photo" });
  const canvas = element("canvas", { className: "over", ariaHidden: "true" });
  const frame = element("div", { className: "framed" }, picture, canvas);
  picture.onload = () => frame.style.setProperty("--ratio", picture.naturalWidth / picture.naturalHeight);
  return frame;
}

export async function showEvidence(frame, id, label) {
  const known = label === undefined ? "top=3" : `label=${encodeURIComponent(label)}`;
  const found = await get(`/studio/explain/${id}?${known}`);
  const one = found.classes[0];
  drawEvidence(frame.querySelector("canvas"), one.map, scaleOf([one.map]));
  frame.classList.add("explained");
  return found;
}

export async function view(image) {
  $("viewer-title").textContent = image.name;
  $("viewer-words").textContent = `Labelled ${image.label}.`;
  const frame = framed(image.id, image.name);
  $("viewer-frame").replaceChildren(frame);
  $("viewer").showModal();
  if (!state.status?.answering.length) return;
  try {
    const found = await showEvidence(frame, image.id);
    const ranked = found.classes.map(({ label, probability, score }) =>
      `${label} ${probability === null ? score.toFixed(2) : percent(probability)}`);
    $("viewer-words").textContent = `Labelled ${image.label}. The model, which has seen this image, predicts ${ranked.join(", ")}. Orange is evidence for ${found.classes[0].label}, blue against it.`;
  } catch (problem) {
    $("viewer-words").textContent = problem.message;
  }
}

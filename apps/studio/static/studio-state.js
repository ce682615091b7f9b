// What the page knows: asked from the server again and again, so that two tabs, the command line
// and a server that was started anew all show the same.

import { checked, post, reach } from "/asking.js";

const SOON = 400; // milliseconds until the next look while a model is trained
const LATER = 1500;

export const state = {
  status: null, classes: [], images: [], byId: new Map(), version: "", isOnline: true,
};
const listeners = [];
let timer = null;
let looking = null;

export function onChange(listener) {
  listeners.push(listener);
}

export function tell() {
  for (const listener of listeners) listener();
}

export async function get(address) {
  return (await checked(await reach(address))).json();
}

// Do something on the server, then look at what became of it.
export async function act(address, asked = {}) {
  const answer = await (await post(address, JSON.stringify(asked), null, "application/json")).json();
  await look();
  return answer;
}

// One look at a time; who asks during one waits for the next.
export function look() {
  clearTimeout(timer);
  looking = (looking ?? Promise.resolve()).then(refresh).finally(() => {
    clearTimeout(timer);
    timer = setTimeout(look, isBusy() ? SOON : LATER);
  });
  return looking;
}

async function refresh() {
  try {
    const status = await get("/studio/status");
    const before = state.status;
    const isOther = status.version !== state.version || status.preferred !== before?.preferred;
    state.status = status;
    state.isOnline = true;
    if (isOther) take(await get("/studio/images"));
  } catch (problem) {
    if (!problem.isOffline) throw problem;
    state.isOnline = false;
  }
  tell();
}

function take({ version, classes, images }) {
  state.version = version;
  state.classes = classes;
  state.images = images.map(([id, place, name, verdict]) => (
    { id, label: classes[place].name, name, verdict }));
  state.byId = new Map(state.images.map((image) => [image.id, image]));
}

function isBusy() {
  const training = state.status?.training;
  return Boolean(training && (training.quick.on || training.better.on));
}

export function thumbnail(id) {
  return `/studio/thumbnail/${id}`;
}

export function counted(n, what) {
  return `${n.toLocaleString()} ${what}${n === 1 ? "" : "s"}`;
}

// Labels are at hand as text: a class may have any name.
export function options(select, values, chosen) {
  const shown = [...select.options].map((o) => o.value).join("\0");
  if (shown !== values.map(([value]) => value).join("\0")) {
    select.replaceChildren(...values.map(([value, text]) => new Option(text, value)));
  }
  if (chosen !== undefined && select.value !== chosen) select.value = chosen;
}

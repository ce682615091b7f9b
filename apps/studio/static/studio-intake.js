// Images come in: chosen, dropped (also as folders), pasted, or from the camera while a button is
// held. What the server has not confirmed stays in the queue, so that a server that was stopped
// gets it when it is there again.

import * as ask from "/asking.js";
import { openCamera, pictureOf } from "/camera.js";
import { askName } from "/studio-dialogs.js";
import { act, counted, look, options, state } from "/studio-state.js";

const AT_ONCE = 3;
const SHOTS = 180; // milliseconds between two pictures while the button is held
const PATIENCE = 1500; // milliseconds until a server that does not answer is asked again
const $ = (id) => document.getElementById(id);

const waiting = [];
let running = 0;
let [done, total] = [0, 0];
let troubles = [];

export function newToken() {
  return [...crypto.getRandomValues(new Uint8Array(8))].map((b) => b.toString(16).padStart(2, "0")).join("");
}

export function startIntake(chosenClass) {
  $("files").addEventListener("change", (event) => chosen(event, (files) => addTo(chosenClass(), files)));
  $("snapshot").addEventListener("change", (event) => chosen(event, (files) => addTo(chosenClass(), files)));
  $("folder-input").addEventListener("change", (event) => chosen(event, (files) =>
    addFolders(files.map((file) => ({ path: file.webkitRelativePath.split("/"), file })))));
  $("troubles-close").addEventListener("click", () => { troubles = []; show(); });
  addEventListener("paste", (event) => {
    const files = [...(event.clipboardData?.files ?? [])];
    if (files.length) addTo(chosenClass(), files);
  });
  addEventListener("beforeunload", (event) => { if (waiting.length || running) event.preventDefault(); });
  listenForDrops(chosenClass);
  listenForCamera(chosenClass);
}

function chosen(event, take) {
  take([...event.target.files]);
  event.target.value = ""; // the same file can be chosen again
}

export async function addTo(label, files, token = newToken()) {
  if (!files.length) return;
  if (label === null) { // which class they show, only a person knows
    askName(`What do these ${counted(files.length, "image")} show?`, "", "Add", async (name) => {
      addTo((await act("/studio/class", { name })).class, files, token);
    });
    return;
  }
  for (const file of files) waiting.push({ file, label, token });
  total += files.length;
  work();
}

// A folder that has images is a class; one that only has folders holds classes.
async function addFolders(found) {
  const roots = Map.groupBy(found.filter(({ path }) => !path.some(isHidden)), ({ path }) => path[0]);
  const token = newToken();
  for (const [root, files] of roots) {
    const isClass = files.some(({ path }) => path.length === 2);
    const classes = Map.groupBy(files, ({ path }) => (isClass ? root : path[1]));
    for (const [name, members] of classes) {
      const label = await newClass(name);
      if (label !== null) await addTo(label, members.map(({ file }) => file), token);
    }
  }
}

async function newClass(name) {
  try {
    return (await act("/studio/class", { name })).class;
  } catch (problem) {
    troubles.push(`${name}: ${problem.message}`);
    show();
    return null;
  }
}

function isHidden(name) {
  return name.startsWith(".") || name === "__MACOSX" || name === "Thumbs.db";
}

function work() {
  while (running < AT_ONCE && waiting.length) {
    running++;
    send(waiting.shift()).finally(() => {
      running--;
      done++;
      if (!waiting.length && !running) {
        [done, total] = [0, 0];
        look();
      }
      show();
      work();
    });
  }
  show();
}

async function send({ file, label, token }) {
  const query = new URLSearchParams({ class: label, name: file.name, change: token });
  for (;;) {
    try {
      const most = state.status?.limits.max_bytes ?? Infinity;
      if (file.size > most) throw new Error(`Larger than ${Math.floor(most / 2 ** 20)} MB.`);
      return await ask.post(`/studio/add?${query}`, file);
    } catch (problem) {
      if (!problem.isOffline) {
        troubles.push(`${file.name}: ${problem.message}`);
        return null;
      }
      await new Promise((resolve) => setTimeout(resolve, PATIENCE));
    }
  }
}

function show() {
  $("uploading").hidden = !total;
  $("uploading").querySelector("i").style.setProperty("--share", `${total ? 100 * done / total : 0}%`);
  $("uploading-words").textContent = `${done} of ${counted(total, "image")} added`;
  $("troubles").hidden = !troubles.length;
  const more = troubles.length > 3 ? ` … and ${troubles.length - 3} more` : "";
  const words = troubles.length ? `${counted(troubles.length, "file")} could not be added. ${troubles.slice(0, 3).join(" ")}${more}` : "";
  if ($("troubles-words").textContent !== words) $("troubles-words").textContent = words;
}

function listenForDrops(chosenClass) {
  let depth = 0; // enter and leave come for every element that the pointer crosses
  const hasFiles = (event) => event.dataTransfer?.types.includes("Files");
  const mark = () => document.body.classList.toggle("over", depth > 0);
  const aim = (target) => {
    for (const row of document.querySelectorAll(".aimed")) row.classList.remove("aimed");
    target?.closest?.("[data-class]")?.classList.add("aimed");
  };
  addEventListener("dragenter", (event) => { if (hasFiles(event)) { depth++; mark(); } });
  addEventListener("dragleave", (event) => { if (hasFiles(event)) { depth--; mark(); } });
  addEventListener("dragover", (event) => { if (hasFiles(event)) { event.preventDefault(); aim(event.target); } });
  addEventListener("drop", async (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    depth = 0;
    mark();
    aim(null);
    const label = event.target.closest?.("[data-class]")?.dataset.class;
    const entries = [...event.dataTransfer.items].filter((item) => item.kind === "file")
      .map((item) => item.webkitGetAsEntry?.() ?? item.getAsFile());
    const found = (await Promise.all(entries.map((entry) => filesOf(entry, [])))).flat();
    const loose = found.filter(({ path }) => path.length === 1);
    const inFolders = found.filter(({ path }) => path.length > 1);
    if (label !== undefined) return addTo(label, found.map(({ file }) => file));
    if (loose.length) await addTo(chosenClass(), loose.map(({ file }) => file));
    if (inFolders.length) await addFolders(inFolders);
  });
}

// Give the files of a dropped entry with the folders that they are in.
async function filesOf(entry, above) {
  if (entry instanceof File) return [{ path: [...above, entry.name], file: entry }];
  const path = [...above, entry.name];
  if (entry.isFile) {
    const file = await new Promise((resolve, reject) => entry.file(resolve, reject));
    return [{ path, file }];
  }
  const reader = entry.createReader();
  const found = [];
  for (;;) { // a reader gives a hundred at a time
    const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (!some.length) return found;
    found.push(...(await Promise.all(some.map((one) => filesOf(one, path)))).flat());
  }
}

function listenForCamera(chosenClass) {
  const [dialog, video, shutter] = [$("camera"), $("viewfinder"), $("shutter")];
  let [timer, shots, token] = [null, 0, ""];
  $("camera-open").addEventListener("click", async () => {
    if (!navigator.mediaDevices) return $("snapshot").click(); // a phone without https
    if (!state.classes.length && await newClass("Class 1") === null) return;
    options($("camera-class"), state.classes.map(({ name }) => [name, name]), chosenClass() ?? undefined);
    const canPredict = () => state.status?.answering.length > 0;
    if (!await openCamera(dialog, video, $("live"), canPredict)) $("snapshot").click();
  });
  const begin = () => {
    if (timer !== null || !video.videoWidth) return;
    [shots, token] = [0, newToken()];
    shoot();
    timer = setInterval(shoot, SHOTS);
    shutter.classList.add("held");
  };
  const end = () => {
    clearInterval(timer);
    timer = null;
    shutter.classList.remove("held");
  };
  const shoot = async () => {
    const number = ++shots;
    $("shots").textContent = `${counted(number, "picture")} taken`;
    const time = new Date().toISOString().slice(0, 19).replaceAll(":", "-");
    const file = new File([await pictureOf(video)], `camera-${time}-${number}.jpg`, { type: "image/jpeg" });
    addTo($("camera-class").value, [file], token);
  };
  shutter.addEventListener("pointerdown", (event) => { shutter.setPointerCapture(event.pointerId); begin(); });
  for (const kind of ["pointerup", "pointercancel", "blur", "lostpointercapture"]) shutter.addEventListener(kind, end);
  shutter.addEventListener("keydown", (event) => {
    if (event.key === " " || event.key === "Enter") { event.preventDefault(); begin(); }
  });
  shutter.addEventListener("keyup", end);
  shutter.addEventListener("contextmenu", (event) => event.preventDefault()); // a long touch
  $("camera-close").addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", end);
}

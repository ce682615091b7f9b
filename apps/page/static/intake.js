// Input of images: chosen, dropped, pasted, or from the camera.

import { openCamera, pictureOf } from "/camera.js";

const $ = (id) => document.getElementById(id);

export function onImages(take) {
  for (const id of ["files", "snapshot"]) {
    $(id).addEventListener("change", (event) => {
      take([...event.target.files]);
      event.target.value = ""; // the same file can be chosen again
    });
  }
  addEventListener("paste", (event) => {
    const files = [...(event.clipboardData?.files ?? [])];
    if (files.length) {
      event.preventDefault();
      take(files);
    }
  });
  listenForDrops(take);
  listenForCamera(take);
}

function listenForDrops(take) {
  let depth = 0; // enter and leave come for every element that the pointer crosses
  const hasFiles = (event) => event.dataTransfer?.types.includes("Files");
  const show = () => document.body.classList.toggle("over", depth > 0);
  addEventListener("dragenter", (event) => { if (hasFiles(event)) { depth++; show(); } });
  addEventListener("dragleave", (event) => { if (hasFiles(event)) { depth--; show(); } });
  addEventListener("dragover", (event) => { if (hasFiles(event)) event.preventDefault(); });
  addEventListener("drop", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    depth = 0;
    show();
    take([...event.dataTransfer.files]);
  });
}

function listenForCamera(take) {
  const [dialog, video] = [$("camera"), $("viewfinder")];
  $("camera-open").addEventListener("click", async () => {
    if (!await openCamera(dialog, video, $("live"))) $("snapshot").click();
  });
  $("camera-close").addEventListener("click", () => dialog.close());
  $("shutter").addEventListener("click", async () => {
    if (!video.videoWidth) return;
    const blob = await pictureOf(video, Infinity, 0.92);
    dialog.close();
    take([new File([blob], "camera.jpg", { type: "image/jpeg" })]);
  });
}

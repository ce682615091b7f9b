// The camera in a dialog, with a live prediction of what it sees.

import * as ask from "/asking.js";
import { certaintyOf, countOf } from "/panels.js";

const EVERY = 600; // milliseconds between two predictions
const LONGER_SIDE = 640; // pixels of the pictures that are predicted, and of examples

// Show the camera until the dialog is closed. False where there is none: browsers give it to pages
// of this machine and of https only; the file chooser of a phone opens its camera without asking.
export async function openCamera(dialog, video, live, canPredict = () => true) {
  if (!navigator.mediaDevices?.getUserMedia) return false;
  try {
    const wanted = { video: { facingMode: "environment", width: { ideal: 1280 } } };
    video.srcObject = await navigator.mediaDevices.getUserMedia(wanted);
    dialog.showModal();
    await video.play();
  } catch {
    return false;
  }
  let asking = false;
  const timer = setInterval(async () => {
    if (asking || !video.videoWidth || !canPredict()) return;
    asking = true;
    try {
      live.textContent = sentenceOf(await ask.predict(await pictureOf(video)));
    } catch { /* the next picture may do */ } finally {
      asking = false;
    }
  }, EVERY);
  dialog.addEventListener("close", () => {
    clearInterval(timer);
    live.textContent = "";
    for (const track of video.srcObject?.getTracks() ?? []) track.stop();
    video.srcObject = null;
  }, { once: true });
  return true;
}

export function pictureOf(video, side = LONGER_SIDE, quality = 0.9) {
  const zoom = Math.min(1, side / Math.max(video.videoWidth, video.videoHeight));
  const canvas = new OffscreenCanvas(video.videoWidth * zoom, video.videoHeight * zoom);
  canvas.getContext("2d").drawImage(video, 0, 0, canvas.width, canvas.height);
  return canvas.convertToBlob({ type: "image/jpeg", quality });
}

function sentenceOf(answer) {
  if (answer.boxes) return countOf(answer.boxes.filter(({ confidence }) => confidence >= 0.5).length, "found");
  return answer.unknown ? "None of these" : `${answer.label} · ${certaintyOf(answer.classes[0])}`;
}

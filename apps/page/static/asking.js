// Requests to the server. Every failure becomes an Error whose message is a sentence to show.

const TRIES = 6;
// The key of a server that has one is in the part of the address that browsers do not send. A
// cookie keeps it: pictures, reports and downloads are asked for without scripts.
const KEY = new URLSearchParams(location.hash.slice(1)).get("key");
if (KEY !== null) {
  document.cookie = `visualwords-key=${encodeURIComponent(KEY)}; path=/; SameSite=Strict`;
  history.replaceState(null, "", location.pathname);
}

export async function model() {
  return (await checked(await reach("/api/model"))).json();
}

export async function predict(file, signal) {
  return (await post("/api/predict?top=6&least=0.2", file, signal)).json();
}

export async function explain(file, label, signal) {
  const which = label === null ? "top=6" : `label=${encodeURIComponent(label)}`;
  return (await post(`/api/explain?${which}`, file, signal)).json();
}

// For images that the browser can't show by itself (TIFF, HEIC).
export async function preview(file, signal) {
  return (await post("/api/preview", file, signal)).blob();
}

// A server that is busy is asked again.
export async function post(address, body, signal, kind = "application/octet-stream") {
  const headers = { "Content-Type": kind };
  for (let tries = 1; ; tries++) {
    const answer = await reach(address, { method: "POST", body, headers, signal });
    const busy = answer.status === 429 || answer.status === 503;
    if (!busy || tries === TRIES) return checked(answer);
    const seconds = Number(answer.headers.get("Retry-After")) || 1;
    await new Promise((resolve) => setTimeout(resolve, 1000 * seconds * (0.5 + Math.random())));
  }
}

export async function reach(address, options) {
  try {
    return await fetch(address, options);
  } catch (problem) {
    if (problem.name === "AbortError") throw problem;
    const sentence = "The server does not answer; check that it is still running.";
    throw Object.assign(new Error(sentence), { isOffline: true });
  }
}

export async function checked(answer) {
  if (answer.ok) return answer;
  let sentence = `the server answered ${answer.status}`;
  try {
    sentence = (await answer.json()).error;
  } catch { /* not JSON: show the status only */ }
  throw new Error(`${sentence[0].toUpperCase()}${sentence.slice(1)}.`);
}

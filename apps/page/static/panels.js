// The panels beside the image. Names come from files: they are only ever set as text.

import { clear, drawPatch, markPatches } from "/drawing.js";

const $ = (id) => document.getElementById(id);

export function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

export function percent(share) {
  if (share > 0.995) return "> 99 %";
  return share < 0.005 ? "< 1 %" : `${Math.round(100 * share)} %`;
}

export function signed(value) {
  return `${value <= -0.005 ? "−" : "+"}${Math.abs(value).toFixed(2)}`;
}

export function certaintyOf({ probability, score }) {
  return probability === null ? `score ${score.toFixed(2)}` : percent(probability);
}

export function showModel(about) {
  document.title = `${about.name} · visualwords`;
  $("model-name").textContent = about.name;
  $("report-link").hidden = !about.report;
  $("about-summary").textContent = about.summary;
  const names = about.classes.map((c) => c.label);
  const more = names.length > 12 ? ` and ${names.length - 12} more` : "";
  $("knows").textContent = about.kind === "detector"
    ? about.summary
    : `This model distinguishes ${names.length} classes: ${names.slice(0, 12).join(", ")}${more}.`;
  $("about-facts").replaceChildren(...about.facts.flatMap(({ name, value }) => [
    element("dt", { textContent: name }), element("dd", { textContent: value }),
  ]));
  $("about-classes").replaceChildren(...about.classes.map(({ label, images }) =>
    element("li", { textContent: images === null ? label : `${label} · ${images}` })));
}

export function showClasses(classes, chosen, choose) {
  const highest = Math.max(...classes.map((c) => c.score));
  const lowest = Math.min(...classes.map((c) => c.score), 0);
  $("class-list").replaceChildren(...classes.map((one) => {
    const { label, score, probability } = one;
    const share = probability ?? (score - lowest) / (highest - lowest || 1);
    const input = element("input", {
      type: "radio", name: "class", value: label, checked: label === chosen,
      onchange: () => choose(label),
    });
    const bar = element("i");
    bar.style.setProperty("--share", `${100 * share}%`);
    return element("label", { className: "class" }, input,
      element("span", { className: "name", textContent: label }),
      element("span", { className: "share", textContent: certaintyOf(one) }),
      element("span", { className: "bar", ariaHidden: "true" }, bar));
  }));
  $("classes").hidden = false;
}

export function showWords(words, image, marks) {
  $("word-list").replaceChildren(...words.map((word) => {
    const side = word.evidence >= 0 ? "for" : "against";
    const button = element("button", {
      type: "button", className: "word",
      onmouseenter: () => markPatches(marks, image, word.patches), onmouseleave: () => clear(marks),
      onfocus: () => markPatches(marks, image, word.patches), onblur: () => clear(marks),
      onclick: () => markPatches(marks, image, word.patches),
    });
    if (word.patches.length && image.naturalWidth) {
      const canvas = element("canvas", { ariaHidden: "true" });
      drawPatch(canvas, image, word.patches[0]);
      button.append(canvas);
    }
    if (word.color) {
      const swatch = element("i", { className: "color", ariaHidden: "true" });
      swatch.style.backgroundColor = word.color;
      button.append(swatch);
    }
    button.append(
      element("span", { className: `amount ${side}`, textContent: signed(word.evidence) }),
      element("span", { className: "title", textContent: word.name }),
      element("span", { className: "unseen", textContent: `, evidence ${side} the class` }));
    return element("li", {}, button);
  }));
  $("words").hidden = !words.length;
  $("cut").hidden = !words.some((word) => word.patches.length);
}

export function showSimilar(similar) {
  $("similar-list").replaceChildren(...similar.map(({ name, label, similarity, thumbnail }) => {
    const item = element("li", { title: name });
    if (thumbnail) item.append(element("img", { src: thumbnail, alt: "" }));
    const shown = thumbnail ? label : name;
    item.append(element("span", { textContent: `${shown} · ${similarity.toFixed(2)}` }));
    return item;
  }));
  $("similar").hidden = !similar.length;
}

export function countOf(n, label) {
  if (n === 1) return `1 ${label}`;
  if (label === "person") return `${n || "no"} people`;
  return n ? `${n} × ${label}` : `no ${label}`;
}

export function showBoxes(boxes, label) {
  $("box-list").replaceChildren(...boxes.map(({ confidence }, i) => element("li", {},
    element("span", { textContent: `${label} ${i + 1}` }),
    element("span", { className: "soft", textContent: percent(confidence) }))));
  $("boxes").hidden = !boxes.length;
}

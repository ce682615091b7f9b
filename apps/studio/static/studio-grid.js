// Thousands of images as a grid: only those in sight are in the document.

import { element } from "/panels.js";
import { thumbnail } from "/studio-state.js";

const CELL = 128; // pixels, smallest width of a cell
const SPARE = 2; // rows above and below those in sight

export class Grid {
  constructor(root, onSelect, onOpen) {
    this.root = root;
    this.inner = element("div", { className: "cells" });
    this.inner.setAttribute("role", "presentation");
    root.append(this.inner);
    this.images = [];
    this.selected = new Set();
    this.active = 0;
    this.anchor = 0;
    this.cells = new Map();
    this.onSelect = onSelect;
    this.onOpen = onOpen;
    root.addEventListener("scroll", () => this.draw(), { passive: true });
    new ResizeObserver(() => this.draw()).observe(root);
    this.inner.addEventListener("click", (event) => this.click(event));
    this.inner.addEventListener("dblclick", (event) => this.open(event));
    root.addEventListener("keydown", (event) => this.key(event));
    root.addEventListener("focus", () => this.draw());
  }

  show(images) {
    this.images = images;
    const here = new Set(images.map((image) => image.id));
    const kept = [...this.selected].filter((id) => here.has(id));
    this.active = Math.max(0, Math.min(this.active, images.length - 1));
    if (kept.length !== this.selected.size) {
      this.selected = new Set(kept);
      this.onSelect();
    }
    this.draw();
  }

  clear() {
    this.selected.clear();
    this.onSelect();
    this.draw();
  }

  get columns() {
    return Math.max(2, Math.floor(this.root.clientWidth / CELL));
  }

  get side() {
    return this.root.clientWidth / this.columns;
  }

  draw() {
    const { columns, side } = this;
    if (!side) return;
    const height = Math.round(side * 0.82);
    const rows = Math.ceil(this.images.length / columns);
    this.inner.style.height = `${rows * height}px`;
    const first = Math.max(0, Math.floor(this.root.scrollTop / height) - SPARE);
    const last = Math.ceil((this.root.scrollTop + this.root.clientHeight) / height) + SPARE;
    const seen = new Set();
    for (let i = first * columns; i < Math.min(this.images.length, last * columns); i++) {
      const image = this.images[i];
      seen.add(image.id);
      let cell = this.cells.get(image.id);
      if (!cell) {
        cell = this.made(image);
        this.cells.set(image.id, cell);
        this.inner.append(cell);
      }
      this.place(cell, image, i, columns, side, height);
    }
    for (const [id, cell] of this.cells) {
      if (seen.has(id)) continue;
      cell.remove();
      this.cells.delete(id);
    }
    const active = this.images[this.active];
    const isShown = active && this.cells.has(active.id);
    if (isShown) this.root.setAttribute("aria-activedescendant", `cell-${active.id}`);
    else this.root.removeAttribute("aria-activedescendant");
  }

  made(image) {
    const picture = element("img", { src: thumbnail(image.id), alt: "", draggable: false });
    picture.onerror = () => cell.classList.add("no-picture");
    const cell = element("div", { className: "cell", id: `cell-${image.id}`, title: image.name },
      picture, element("span", { className: "unseen" }), element("i", { className: "tick", ariaHidden: "true" }));
    cell.setAttribute("role", "option");
    return cell;
  }

  place(cell, image, i, columns, side, height) {
    const [x, y] = [(i % columns) * side, Math.floor(i / columns) * height];
    cell.style.transform = `translate(${x}px, ${y}px)`;
    cell.style.width = `${side}px`;
    cell.style.height = `${height}px`;
    cell.dataset.i = i;
    const isSelected = this.selected.has(image.id);
    cell.ariaSelected = String(isSelected);
    cell.ariaPosInSet = String(i + 1);
    cell.ariaSetSize = String(this.images.length);
    cell.classList.toggle("wrong", image.verdict === 0);
    cell.classList.toggle("active", i === this.active);
    const words = image.verdict === 0 ? `${image.name}, the model predicts another class` : image.name;
    if (cell.children[1].textContent !== words) cell.children[1].textContent = words;
  }

  click(event) {
    const cell = event.target.closest(".cell");
    if (!cell) return;
    const i = Number(cell.dataset.i);
    if (event.shiftKey) this.range(i);
    else this.toggle(i);
    this.active = i;
    this.draw();
  }

  open(event) {
    const cell = event.target.closest(".cell");
    if (cell) this.onOpen(this.images[Number(cell.dataset.i)]);
  }

  toggle(i) {
    const { id } = this.images[i];
    if (!this.selected.delete(id)) this.selected.add(id);
    this.anchor = i;
    this.onSelect();
  }

  range(i) {
    const [low, high] = [Math.min(i, this.anchor), Math.max(i, this.anchor)];
    for (const { id } of this.images.slice(low, high + 1)) this.selected.add(id);
    this.onSelect();
  }

  key(event) {
    const steps = {
      ArrowRight: 1, ArrowLeft: -1, ArrowDown: this.columns, ArrowUp: -this.columns,
      Home: -this.images.length, End: this.images.length,
    };
    if (!this.images.length) return;
    if (event.key in steps) {
      const last = this.images.length - 1;
      this.active = Math.min(last, Math.max(0, this.active + steps[event.key]));
      if (event.shiftKey) this.range(this.active);
      this.reveal();
    } else if (event.key === " ") this.toggle(this.active);
    else if (event.key === "Enter") this.onOpen(this.images[this.active]);
    else if (event.key === "Escape") this.clear();
    else if (event.key === "a" && (event.ctrlKey || event.metaKey)) {
      this.selected = new Set(this.images.map((image) => image.id));
      this.onSelect();
    } else return;
    event.preventDefault();
    this.draw();
  }

  reveal() {
    const height = Math.round(this.side * 0.82);
    const top = Math.floor(this.active / this.columns) * height;
    const { scrollTop, clientHeight } = this.root;
    if (top < scrollTop) this.root.scrollTop = top;
    else if (top + height > scrollTop + clientHeight) this.root.scrollTop = top + height - clientHeight;
  }
}

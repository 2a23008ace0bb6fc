// SPDX-License-Identifier: Apache-2.0
#pragma once
// What every picture of a page shares, see page.hpp: amounts in words, marks with their tips, legends, the time axis with zoom
// and search, the figures of a document as tables. Pictures add themselves to `draw` by their kind (page_pictures.hpp).

namespace hyperparallel { inline namespace v0_2 { namespace report { namespace detail {

inline constexpr const char* page_script = R"script(
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const space = document.querySelector("svg").namespaceURI;
const tip = document.getElementById("tip");
const colour = i => `var(--c${i % 12})`;
const is_dark = i => [0, 8, 10].includes(i % 12);
const wide = 1180, left = 120, inner = wide - left - 12;
const draw = {}, views = {};

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) element.setAttribute(name, value);
  element.append(...children);
  return element;
}
const html = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) => fill(document.createElementNS(space, tag), attributes, children);

function scaled(value, steps, names) {
  let at = 0;
  while (at + 1 < names.length && Math.abs(value) >= steps[at + 1]) ++at;
  const shown = value / steps[at];
  return shown.toFixed(Math.abs(shown) >= 100 ? 1 : Math.abs(shown) >= 10 ? 2 : 3).replace(/\.?0+$/, "") + " " + names[at];
}
const in_words = {
  bytes: v => scaled(v, [1, 1024, 2 ** 20, 2 ** 30, 2 ** 40, 2 ** 50], ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]),
  seconds: v => v === 0 ? "0" : scaled(v * 1e9, [1, 1e3, 1e6, 1e9], ["ns", "us", "ms", "s"]),
  share: v => (100 * v).toFixed(2) + " %",
  plain: v => Number.isInteger(v) ? String(v) : String(Number(v.toPrecision(6))),
};
const words = (value, unit) => (in_words[unit] || (v => in_words.plain(v) + (unit ? " " + unit : "")))(value);

function show_tip(text, x, y) {
  tip.textContent = text;
  tip.hidden = false;
  tip.style.left = Math.max(4, Math.min(x + 14, innerWidth - tip.offsetWidth - 8)) + "px";
  tip.style.top = Math.max(4, y + 18 + tip.offsetHeight > innerHeight ? y - tip.offsetHeight - 8 : y + 18) + "px";
}
const hide_tip = () => { tip.hidden = true; };

// Marks of a picture: `text` of each is its tip; arrow keys walk them while the picture has the focus.
function watch_marks(picture, marks) {
  let now = -1;
  const leave = () => { if (now >= 0) marks[now].element.classList.remove("now"); now = -1; hide_tip(); };
  const enter = (at, x, y) => {
    leave();
    now = at;
    marks[at].element.classList.add("now");
    show_tip(marks[at].text, x, y);
  };
  marks.forEach((mark, at) => { mark.element.number = at; });
  picture.addEventListener("pointermove", e => {
    const at = e.target.number;
    if (at === undefined) leave(); else enter(at, e.clientX, e.clientY);
  });
  picture.addEventListener("pointerleave", leave);
  picture.addEventListener("blur", leave);
  picture.addEventListener("keydown", e => {
    const step = e.key === "ArrowRight" || e.key === "ArrowDown" ? 1 : e.key === "ArrowLeft" || e.key === "ArrowUp" ? -1 : 0;
    if (step === 0 || marks.length === 0) return;
    e.preventDefault();
    let at = now;
    do at = (at + step + marks.length) % marks.length;
    while (marks[at].element.style.display === "none" && at !== now);
    const box = marks[at].element.getBoundingClientRect();
    enter(at, box.left + box.width / 2, box.bottom);
  });
}

// A picture as a file of its own, as it is seen: what styles say becomes attributes, so that other programs draw it, too.
const told = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "opacity", "font-family", "font-size", "text-anchor"];
function save_svg(drawn, title) {
  const copy = drawn.cloneNode(true), seen = [drawn, ...drawn.querySelectorAll("*")];
  [copy, ...copy.querySelectorAll("*")].forEach((element, at) => {
    const style = getComputedStyle(seen[at]);
    if (style.display === "none") return element.remove();
    for (const key of told) element.setAttribute(key, style.getPropertyValue(key).replace(/url\("(.*)"\)/, "url($1)"));
    for (const name of ["style", "class", "tabindex", "role"]) element.removeAttribute(name);
  });
  copy.prepend(document.querySelector("defs").cloneNode(true));
  const address = URL.createObjectURL(new Blob([new XMLSerializer().serializeToString(copy)], {type: "image/svg+xml"}));
  html("a", {download: title.replace(/[^A-Za-z0-9]+/g, "_") + ".svg", href: address}).click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

function section(picture) {
  const drawn = svg("svg", {class: "picture", tabindex: 0, role: "img", "aria-label": picture.title, "data-kind": picture.kind});
  const save = html("button", {type: "button", class: "save", "aria-label": "save as SVG", title: "save as SVG"}, "SVG");
  save.addEventListener("click", () => save_svg(drawn, picture.title));
  const frame = html("section", {"data-kind": picture.kind}, save, html("h2", {}, picture.title), html("p", {class: "about"}, picture.about || ""));
  return {frame, drawn};
}
function legend(names) {
  return html("div", {class: "legend"}, ...names.map(([name, at]) =>
    html("span", {}, html("i", {style: `background:${colour(at)}`}), name)));
}
const short = (text, most) => text.length > most ? text.slice(0, most - 1) + "\u2026" : text;

// The part of a time axis that is seen. Pictures with one `axis` share it.
function view_of(picture) {
  const name = picture.axis || "own" + Object.keys(views).length;
  if (!views[name]) views[name] = {from: 0, to: picture.total, total: picture.total, listeners: []};
  return views[name];
}
function set_view(view, from, to) {
  const width = Math.min(Math.max(to - from, view.total * 1e-6), view.total);
  view.from = Math.min(Math.max(from, 0), view.total - width);
  view.to = view.from + width;
  view.listeners.forEach(redraw => redraw());
}
function zoom(view, factor, about) {
  const at = about === undefined ? (view.from + view.to) / 2 : about;
  set_view(view, at - (at - view.from) * factor, at + (view.to - at) * factor);
}
const at_time = (view, time) => left + (time - view.from) / (view.to - view.from || 1) * inner;

// Multiples of a round step, `most` or fewer steps: a power of 2 of bytes, else 1, 2 or 5 times a power of 10.
function ticks(from, to, most, unit) {
  const least = (to - from) / most, out = [];
  if (!(least > 0)) return [from];
  const ten = 10 ** Math.floor(Math.log10(least));
  const step = unit === "bytes" ? 2 ** Math.ceil(Math.log2(least)) : ten * [1, 2, 5, 10].find(m => ten * m >= least * (1 - 1e-9));
  for (let k = Math.ceil(from / step - 1e-9); k * step <= to + step * 1e-9; ++k) out.push(k * step);
  return out;
}
function time_axis(view, y, unit) {
  const axis = svg("g", {class: "axis"});
  for (const time of ticks(view.from, view.to, 8, unit)) {
    const x = at_time(view, time), anchor = x > left + inner - 24 ? "end" : "middle";
    axis.append(svg("line", {x1: x, x2: x, y1: y, y2: y + 5}),
                svg("text", {x, y: y + 18, "text-anchor": anchor}, words(time, unit)));
  }
  return axis;
}

// Buttons, keys, dragging and Ctrl with the wheel change the view of a picture.
function add_zoom(bar, drawn, view) {
  const button = (text, label, act) => {
    const b = html("button", {type: "button", "aria-label": label, title: label}, text);
    b.addEventListener("click", act);
    bar.append(b);
  };
  const move = share => { const by = (view.to - view.from) * share; set_view(view, view.from + by, view.to + by); };
  button("+", "zoom in", () => zoom(view, 0.5));
  button("\u2212", "zoom out", () => zoom(view, 2));
  button("\u25c0", "earlier", () => move(-0.5));
  button("\u25b6", "later", () => move(0.5));
  button("all", "the whole time", () => set_view(view, 0, view.total));
  drawn.addEventListener("keydown", e => {
    if (e.key === "+") zoom(view, 0.5);
    if (e.key === "-") zoom(view, 2);
    if (e.key === "0") set_view(view, 0, view.total);
  });
  const time_of = e => {
    const box = drawn.getBoundingClientRect();
    return view.from + Math.min(Math.max(((e.clientX - box.left) * wide / box.width - left) / inner, 0), 1) * (view.to - view.from);
  };
  drawn.addEventListener("wheel", e => {
    if (!e.ctrlKey) return;
    e.preventDefault();
    zoom(view, e.deltaY < 0 ? 0.7 : 1 / 0.7, time_of(e));
  }, {passive: false});
  let begun, chosen;
  drawn.addEventListener("pointerdown", e => { if (e.button === 0) begun = time_of(e); });
  drawn.addEventListener("pointermove", e => {
    if (begun === undefined) return;
    if (!chosen) drawn.append(chosen = svg("rect", {class: "chosen", y: 0, height: drawn.viewBox.baseVal.height}));
    const a = at_time(view, begun), b = at_time(view, time_of(e));
    fill(chosen, {x: Math.min(a, b), width: Math.abs(b - a)}, []);
  });
  addEventListener("pointerup", e => {
    if (begun === undefined) return;
    const from = begun, to = time_of(e), width = chosen ? Number(chosen.getAttribute("width")) : 0;
    begun = undefined;
    if (chosen) chosen.remove();
    chosen = undefined;
    if (width > 4) set_view(view, Math.min(from, to), Math.max(from, to));
  });
}

// What the document says apart from its pictures: keys end with their unit.
function figure(key, value) {
  if (value === null) return "\u2013";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value !== "number") return String(value);
  for (const unit of ["bytes", "seconds", "share"]) if (key === unit || key.endsWith("_" + unit)) return words(value, unit);
  return words(value, "");
}
const is_simple = value => value === null || typeof value !== "object";
const heading = key => key.replace(/(.)_(bytes|seconds|share)$/, "$1").replace(/_/g, " ");
function cell(key, value) {
  if (Array.isArray(value)) return html("td", {}, value.every(is_simple) ? value.map(v => figure(key, v)).join(", ") : `${value.length} entries`);
  if (!is_simple(value)) return html("td", {}, Object.entries(value).map(([k, v]) => `${heading(k)} ${is_simple(v) ? figure(k, v) : ""}`).join(", "));
  return html("td", typeof value === "number" ? {class: "number"} : {}, figure(key, value));
}
function figures(key, value) {
  if (Array.isArray(value)) {
    if (value.length === 0 || is_simple(value[0])) return html("p", {}, value.map(v => figure(key, v)).join(", ") || "none");
    const columns = [...new Set(value.flatMap(Object.keys))];
    return html("table", {}, html("tr", {}, ...columns.map(c => html("th", {}, heading(c)))),
                ...value.map(row => html("tr", {}, ...columns.map(c => c in row ? cell(c, row[c]) : html("td", {})))));
  }
  const table = html("table", {});
  const out = html("div", {class: "figures"}, table);
  // Of `kinds_bytes` the members have the unit that the name ends with.
  const of = k => /_(bytes|seconds|share)$/.test(key) && !/(bytes|seconds|share)$/.test(k) ? key : k;
  for (const [k, v] of Object.entries(value)) {
    if (is_simple(v)) table.append(html("tr", {}, html("th", {}, heading(k)), cell(of(k), v)));
    else if (k !== "pictures") out.append(html("div", {}, html("h3", {}, heading(k)), figures(k, v)));
  }
  return out;
}
)script";

}}}}  // namespace hyperparallel::v0_2::report::detail
